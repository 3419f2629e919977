"""The figures that only this paper has."""
