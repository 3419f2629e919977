"""``elubench power``."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

SUMMARY = "say how far apart two Gaussians must be for n rows to show them"

_INDENT = 30


def add_options(parser: argparse.ArgumentParser) -> None:
    """Size of the data, distance, and the test."""
    parser.add_argument("--n", type=float, required=True, metavar="N", help="rows")
    parser.add_argument("--d", type=int, default=1, metavar="D", help="columns (default 1)")
    parser.add_argument(
        "--separation",
        type=float,
        metavar="T",
        help="half the distance between the means, in standard deviations",
    )
    parser.add_argument(
        "--model", default="general", help="general (default), isotropic, or diagonal at d = 1"
    )
    parser.add_argument(
        "--level",
        type=float,
        default=0.01,
        metavar="P",
        help="probability of taking one Gaussian for two (default 0.01)",
    )
    parser.add_argument(
        "--power", type=float, default=0.9, metavar="P", help="power wanted (default 0.9)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the smallest distance that is detected and, for a distance given, what to expect of it."""
    from elubench import checks
    from elubench.fits import detectable

    least = detectable(options.n, options.d, options.model, options.level, options.power)
    found: dict[str, Any] = {
        "n": options.n,
        "d": options.d,
        "model": options.model,
        "level": options.level,
        "power": options.power,
        "detectable": _at(options, least),
    }
    if options.separation is not None:
        found["separation"] = _at(
            options, checks.real(options.separation, "separation", above=0.0, below=50.0)
        )
    print(json.dumps(found, indent=2) if options.json else _said(found))
    return 0


def _at(options: argparse.Namespace, half_distance: float) -> dict[str, float | None]:
    """What is to be expected of two Gaussians this far apart; None where EM does not contract.

    The error of the location is never above the statistical radius at one Gaussian.
    """
    from elubench.fits import detection_power
    from elubench.models.known import radius
    from elubench.papers.beyond_em.separation import contraction
    from elubench.papers.crossover.theory import location_error

    n, d = options.n, options.d
    rho = contraction(half_distance, d)
    return {
        "half_distance": half_distance,
        "power": detection_power(n, d, half_distance, options.model, options.level),
        "location_error": min(location_error(half_distance, n, d), radius(options.model, n, d)),
        "iterations_per_digit": math.log(10.0) / -math.log(rho) if 0.0 < rho < 1.0 else None,
    }


def _said(found: dict[str, Any]) -> str:
    from elubench.text import row

    lines = [
        f"two Gaussians of equal weight, n = {found['n']:,.0f}, d = {found['d']}, {found['model']} model"
    ]
    titles = {
        "detectable": f"the closest that a test at level {found['level']:g} sees with power "
        f"{found['power']:g}",
        "separation": "as far apart as given",
    }
    for key, title in titles.items():
        if key in found:
            at = found[key]
            each = at["iterations_per_digit"]
            lines.append(title)
            for name, value in {
                "half distance": f"{at['half_distance']:.3g} standard deviations",
                "power of the test": f"{at['power']:.3f}",
                "error of the location": f"{at['location_error']:.2g} (root mean square, about)",
                "EM": "does not converge in practice"
                if each is None
                else f"{math.ceil(each):,} iteration{'s' if each > 1.0 else ''} per digit",
            }.items():
                lines.append(row(f"  {name}", value, _INDENT))
    return "\n".join(lines)
