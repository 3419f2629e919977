"""The population loss from its definition, at 60 digits, with nothing rewritten.

Slow and obvious: minus the mean log density of the mixture, by the trapezoidal rule with the step
halved until two sums agree; derivatives by central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpmath import mp, mpf

DIGITS = 60
Vector = Sequence[mpf]


def gaussian_mean(function: Callable[[mpf], mpf], width: mpf) -> mpf:
    """E function(V) for standard normal V; `width` is the scale on which the function changes."""
    reach = mp.sqrt(2 * mp.log(10) * (mp.dps + 5)) + 1
    step = min(mpf(1), width) / 14  # at 60 digits the first halving confirms this one
    previous = None
    while True:
        count = int(reach / step) + 1
        total = sum(
            (function(k * step) * mp.exp(-((k * step) ** 2) / 2) for k in range(-count, count + 1)),
            mpf(0),
        )
        value = total * step / mp.sqrt(2 * mp.pi)
        if previous is not None and abs(value - previous) < mpf(10) ** (6 - mp.dps):
            return value
        previous, step = value, step / 2


def log_cosh_mean(tau: mpf, b: mpf) -> mpf:
    """E log cosh(b + sqrt(tau) V)."""
    root = mp.sqrt(tau)
    return gaussian_mean(lambda v: mp.log(mp.cosh(b + root * v)), 1 / root if root > 0 else mpf(1))


def loss(model: str, theta: Vector, scale: Vector) -> mpf:
    """f(theta) - f(truth); data N(0, diag(scale))."""
    if model == "general":
        d = len(theta) // 2
        first, second = theta[:d], theta[d:]
        m = [(x + y) / 2 for x, y in zip(first, second, strict=True)]
        delta = [(y - x) / 2 for x, y in zip(first, second, strict=True)]
        spread = d * scale[0] + sum(x**2 for x in m)  # E|X - m|^2
        s = [(spread - sum(x**2 for x in delta)) / d] * d
    else:
        d = len(theta)
        m, delta = [mpf(0)] * d, list(theta)
        spread = sum(scale)
        if model == "isotropic":
            s = [(spread - sum(x**2 for x in delta)) / d] * d
        else:
            s = [a - x**2 for a, x in zip(scale, delta, strict=True)]
    size = sum(
        mp.log(2 * mp.pi * sj) / 2 + (a + mj**2 + dj**2) / (2 * sj)
        for sj, a, mj, dj in zip(s, scale, m, delta, strict=True)
    )
    tau = sum(a * (dj / sj) ** 2 for a, dj, sj in zip(scale, delta, s, strict=True))
    b = -sum(mj * dj / sj for mj, dj, sj in zip(m, delta, s, strict=True))
    truth = sum(mp.log(2 * mp.pi * a) / 2 + mpf(1) / 2 for a in scale)
    return size - log_cosh_mean(tau, b) - truth


def gradient(model: str, theta: Vector, scale: Vector) -> list[mpf]:
    """Central differences of `loss`."""
    out = []
    for j in range(len(theta)):
        h = mpf(10) ** -12 * (abs(theta[j]) + mpf(10) ** -6)
        up, down = list(theta), list(theta)
        up[j] += h
        down[j] -= h
        out.append((loss(model, up, scale) - loss(model, down, scale)) / (2 * h))
    return out


def hessian(model: str, theta: Vector, scale: Vector) -> list[list[mpf]]:
    """Second differences of `loss`."""
    p = len(theta)
    h = [mpf(10) ** -11 * (abs(x) + mpf(10) ** -6) for x in theta]
    out = [[mpf(0)] * p for _ in range(p)]
    for i in range(p):
        for j in range(i, p):
            total = mpf(0)
            for si in (1, -1):
                for sj in (1, -1):
                    point = list(theta)
                    point[i] += si * h[i]
                    point[j] += sj * h[j]
                    total += si * sj * loss(model, point, scale)
            out[i][j] = out[j][i] = total / (4 * h[i] * h[j])
    return out
