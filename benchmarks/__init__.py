"""Benchmarks: classes for asv, and ``python -m benchmarks.limits`` for a table from one run."""
