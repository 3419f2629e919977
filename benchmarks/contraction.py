"""What an iteration near one Gaussian leaves of theta, at infinite n.

    python -m benchmarks.contraction

Where the gradient is kappa |theta|^alpha theta, with alpha = 6 at d = 1 and 2 beyond, NormGD and
Newton's method multiply theta by 1 - eta / (alpha + 1), Polyak's step by 1 - 1 / (alpha + 2), and EM's
by 1.
"""

import numpy as np

import elubench as eb

SIZES = (0.3, 0.1, 0.03)
NAMES = ("NormGD", "eta = 0.3", "Newton", "Polyak", "EM")


def kept(d, size):
    """Shares of theta that the steps of ``NAMES`` leave; NormGD with eta = 1, then 0.3."""
    theta = np.full(d, size / np.sqrt(d))
    loss = float(eb.population.loss("isotropic", theta))
    gradient = eb.population.gradient("isotropic", theta)
    hessian = eb.population.hessian("isotropic", theta)
    normed = gradient / np.linalg.eigvalsh(hessian)[-1]
    newton = np.linalg.solve(hessian, gradient)
    polyak = loss / (gradient @ gradient) * gradient
    em = theta - eb.population.em_step("isotropic", theta)
    steps = (normed, 0.3 * normed, newton, polyak, em)
    return [np.linalg.norm(theta - step) / size for step in steps]


def derived(d):
    """The same to leading order."""
    alpha = 6 if d == 1 else 2
    return [
        1 - 1 / (alpha + 1),
        1 - 0.3 / (alpha + 1),
        1 - 1 / (alpha + 1),
        1 - 1 / (alpha + 2),
        1.0,
    ]


def main():
    """Print the table."""
    print(" " * 22 + "".join(f"{name:>10}" for name in NAMES))
    for d in (1, 2, 4):
        lines = [(f"d = {d}, |theta| = {size}", kept(d, size)) for size in SIZES]
        for name, shares in (*lines, ("derived", derived(d))):
            print(f"{name:<22}" + "".join(f"{share:10.4f}" for share in shares))


if __name__ == "__main__":
    main()
