"""Values that nobody means to pass."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

#: Each is right for few arguments, if for any.
ODD = (
    None, math.nan, math.inf, -math.inf, -1, 0, 1.5, 2**70, -(2**70), 10**400, Fraction(10**400, 3),
    5e-324, 1e308, "", "x", "1", "a\nb", "\0", b"1", [], [1], [[1], [1, 2]], [None], {}, (), object(),
    True, 1j, Decimal("0.5"), Fraction(1, 3), np.float32(0.5), np.nan, np.array(3), np.array([3]),
    np.eye(40), np.array("x"), np.ma.masked_array([1.0, 2.0], [True, False]), np.datetime64("NaT", "s"),
    datetime.date(2026, 1, 1), pd.NA, pd.NaT, pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}),
    pd.Series([1.0, math.nan]), int, lambda: None, iter([1.0]),
)  # fmt: skip
