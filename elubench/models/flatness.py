"""How flat a model's loss is at one Gaussian, and the statistical radius that follows.

When the data come from one Gaussian, two properties of a model decide everything:

* homogeneity: near the truth the gradient of the population loss has norm `kappa |theta|^(alpha + 1)`,
  so the loss has a flat minimum;
* stability: on a sample of n rows the gradient differs from that by `|theta|^gamma epsilon`, where
  `epsilon = (d/n)^(1/2)`.

Signal and noise balance where `|theta|^(alpha + 1) = |theta|^gamma epsilon`, that is at the radius
`epsilon^(1 / (alpha + 1 - gamma))`.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Flatness(NamedTuple):
    """Homogeneity alpha, stability gamma and leading coefficient kappa of a model at one d."""

    alpha: float
    gamma: float
    kappa: float

    @property
    def location_n(self) -> float:
        """Exponent of n in the radius of the location."""
        return -0.5 / (self.alpha + 1.0 - self.gamma)

    @property
    def scale_n(self) -> float:
        """Exponent of n in the radius of the squared scale, which is quadratic in the location."""
        return 2.0 * self.location_n

    @property
    def iterations_n(self) -> float:
        """Exponent of n in radius^(-alpha): EM's iterations to the radius, and beta^(-t) of ELU's."""
        return -self.alpha * self.location_n

    def radius(self, n: float, d: int, constant: float = 1.0, of: str = "location") -> float:
        """`constant` times the statistical radius of the location, or of the squared scale.

        With `of="scale"`: the d coordinates share one scale, which changes by |theta|^2 / d.
        """
        if of == "location":
            return constant * math.pow(n, self.location_n) * math.pow(d, -self.location_n)
        return constant * math.pow(n, self.scale_n) * math.pow(d, -self.scale_n - 1.0)

    def radius_at(self, n: float, d: int, half_distance: float, constant: float = 1.0) -> float:
        """`constant` times the statistical radius of the location about two Gaussians at +-theta.

        Noise `|theta|^gamma epsilon` over curvature `|theta|^alpha`: the farther they are apart, up to
        one standard deviation, the smaller it is. Where theta is below the radius at one Gaussian, it
        is that one.
        """
        at_zero = self.radius(n, d)
        apart = max(min(half_distance, 1.0), at_zero)
        return constant * at_zero * math.pow(apart / at_zero, self.gamma - self.alpha)


def location_scale(d: int) -> Flatness:
    """Two components at -theta and theta with a free scale, fitted to one Gaussian.

    At d = 1 the free scale cancels all terms below theta^8 of the loss. With q = |theta|^2/d, s = 1 - q
    and the variance tau = d q/s^2 of the argument of tanh, the gradient is
    `theta (1 + q)/s^3 (s - E sech^2)`, and `E sech^2 = 1 - tau + 2 tau^2 - 17/3 tau^3 + ...` The
    bracket is `(d - 1) q + ...`; at d = 1 its terms in q and q^2 vanish, and that in q^3 is
    -5 + 17/3 = 2/3. An EM step moves theta by `theta (s - E sech^2)/s`: the same coefficient.
    """
    if d == 1:
        return Flatness(6.0, 3.0, 2.0 / 3.0)
    return Flatness(2.0, 1.0, 1.0 - 1.0 / d)
