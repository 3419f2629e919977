"""EM for two Gaussians of equal weight in plain NumPy, many starts: shares no code with the package."""

import numpy as np


def log_likelihood(X, weights, one, two, scale):
    """Of rows with weights; ``scale`` is one variance, or one per coordinate."""
    d = X.shape[1]
    variance = np.broadcast_to(scale, d)
    logs = [-0.5 * (((X - mean) ** 2) @ (1.0 / variance)) for mean in (one, two)]
    constant = -0.5 * np.sum(np.log(2.0 * np.pi * variance)) - np.log(2.0)
    return float(weights @ (np.logaddexp(*logs) + constant))


def one_gaussian(X, weights, model):
    """The log-likelihood of the best single Gaussian of the model."""
    total = weights.sum()
    centre = np.zeros(X.shape[1]) if model != "general" else weights @ X / total
    variance = weights @ (X - centre) ** 2 / total
    scale = variance if model == "diagonal" else variance.mean()
    return log_likelihood(X, weights, centre, centre, scale)


def step(X, weights, one, two, scale, model):
    """One EM step."""
    d, total = X.shape[1], weights.sum()
    variance = np.broadcast_to(scale, d)
    squares = [((X - mean) ** 2) @ (1.0 / variance) for mean in (one, two)]
    share = 1.0 / (1.0 + np.exp(np.clip(0.5 * (squares[1] - squares[0]), -700.0, 700.0)))
    if model == "general":
        w1, w2 = weights * (1.0 - share), weights * share
        one = w1 @ X / max(w1.sum(), 1e-300)
        two = w2 @ X / max(w2.sum(), 1e-300)
    else:
        two = (weights * (2.0 * share - 1.0)) @ X / total
        one, w1, w2 = -two, weights * (1.0 - share), weights * share
    by_coordinate = (w1 @ (X - one) ** 2 + w2 @ (X - two) ** 2) / total
    return one, two, by_coordinate if model == "diagonal" else by_coordinate.mean()


def best(X, weights, model, starts, iterations, rng):
    """The highest log-likelihood that EM finds from pairs of rows, one Gaussian included."""
    found = one_gaussian(X, weights, model)
    spread = np.sqrt(np.maximum(X.var(axis=0), 1e-300))
    for _ in range(starts):
        if model == "general":
            one, two = X[rng.choice(len(X), 2, replace=False)]
        else:
            two = X[rng.integers(len(X))] * rng.uniform(0.2, 1.0)
            one = -two
        scale = spread**2 if model == "diagonal" else float(np.mean(spread**2))
        for _ in range(iterations):
            one, two, scale = step(X, weights, one, two, scale, model)
            if not np.all(scale > 1e-10 * spread**2):  # shrinks to points: no maximum there
                break
        else:
            found = max(found, log_likelihood(X, weights, one, two, scale))
    return found


def from_parts(X, places, iterations):
    """The log-likelihood after EM from the means of these rows and of the others, general model."""
    chosen, weights = np.zeros(len(X), bool), np.ones(len(X))
    chosen[places] = True
    one, two = X[~chosen].mean(axis=0), X[chosen].mean(axis=0)
    scale = X[~chosen].var(axis=0).mean()
    for _ in range(iterations):
        one, two, scale = step(X, weights, one, two, scale, "general")
    return log_likelihood(X, weights, one, two, scale)
