"""Rates from tidy rows of runs: exponents, growth of iterations, and how sure they are.

Rows are those of `load_results`, one per run. A *statistic* over replicates at each n (root mean square,
mean or an upper quantile of an error, Kaplan-Meier median of a count) is fitted against ln n, plainly
(`exponent`, `growth`) or with corrections to scaling (`corrected`). May import studies and below.
"""

from elubench.rates.censoring import run_time_distribution as run_time_distribution
from elubench.rates.censoring import running_times as running_times
from elubench.rates.contests import Growth as Growth
from elubench.rates.contests import growth as growth
from elubench.rates.corrections import Corrected as Corrected
from elubench.rates.corrections import corrected as corrected
from elubench.rates.exponents import Exponent as Exponent
from elubench.rates.exponents import exponent as exponent
from elubench.rates.intervals import Interval as Interval
from elubench.rates.intervals import bootstrap as bootstrap
from elubench.rates.intervals import share as share
from elubench.rates.laws import LAWS as LAWS
from elubench.rates.medians import ratio_of_medians as ratio_of_medians
from elubench.rates.resampling import TooLittle as TooLittle
from elubench.rates.table import fit_rates as fit_rates
from elubench.rates.zeros import at_zero as at_zero
from elubench.rates.zeros import mle_at_zero as mle_at_zero

__all__ = ["fit_rates"]
