"""Rates from tidy rows of runs: exponents, growth of iterations, and how sure they are.

Rows are those of `load_results`: one a run. A *statistic* over replicates at each n (root mean square,
mean or an upper quantile of an error, Kaplan-Meier median of a count) is fitted against ln n.
"""

from elubench.rates.contests import Growth, Verdict, growth
from elubench.rates.exponents import Exponent, Weights, exponent
from elubench.rates.laws import LAWS
from elubench.rates.resampling import TooLittle
from elubench.rates.table import fit_rates
from elubench.rates.zeros import at_zero, mle_at_zero

__all__ = [
    "LAWS",
    "Exponent",
    "Growth",
    "TooLittle",
    "Verdict",
    "Weights",
    "at_zero",
    "exponent",
    "fit_rates",
    "growth",
    "mle_at_zero",
]
