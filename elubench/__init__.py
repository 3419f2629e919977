"""Evidence for convergence rates of EM, ELU and their rivals."""

__version__ = "0.1.0"
