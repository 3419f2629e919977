"""Benchmarks: suites for asv (see README.md here), and ``python -m benchmarks.limits`` for one table."""
