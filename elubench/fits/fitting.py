"""What a person with data calls: a start, a run, and in which regime the data are.

**Regimes.** EM and its rivals behave in two ways. Where two components stand clear of each other, EM
converges geometrically and the locations are known to order n^(-1/2). Where one Gaussian would do
("over-specified"), EM crawls and the locations are known to order n^(-1/8) (d = 1) or (d/n)^(1/4) only.
Four numbers tell which it is:

1. The likelihood ratio 2n (loss of one Gaussian - loss). With data from one Gaussian it is half 0, half
   chi^2 with one degree of freedom at d = 1 (n kurtosis^2 / 24 where the kurtosis is negative). At
   d >= 2 it is n (l - log(1 + l)) with 1 + l the largest eigenvalue of the sample's second moments,
   about 2 sqrt(d/n) above 1 and with the fluctuations of Tracy and Widom (I. M. Johnstone, On the
   distribution of the largest eigenvalue in principal components analysis, Annals of Statistics 29
   (2001), 295-327).
   :func:`null_quantile` is its 99 % point; up to there the data are called over-specified.
2. The same against other single Gaussians: one about its own mean, and one that is longer in the
   direction of the two locations, as many parameters as the mixture has. A Gaussian off centre or
   out of round beats the model's one Gaussian without there being two components.
3. The distance of each location from their middle, in scales. Two equal Gaussians have two modes where
   it is above 1, and look like one bump where it is not.
4. EM's contraction factor at the fit, the largest eigenvalue of the derivative of EM's step.

Separated is what has a ratio above ``DECISIVE`` against every single Gaussian (a likelihood e^10 times
higher), two modes, and an EM that contracts by ``CONTRACTION`` or better (45 iterations for a digit).
The rest is undecided, and ``Fit.summary`` says for which reason. Other shapes than one and two Gaussians
are not considered: flat data without a mode, for example, are closer to two than to one.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.algorithms import (
    ELU,
    LBFGS,
    Algorithm,
    Newton,
    Simultaneous,
)
from elubench.algorithms.known import commands
from elubench.checks import Floats
from elubench.kernels import layout, ready, reduction
from elubench.models import Diagonal, General, Isotropic, Model
from elubench.models.known import named
from elubench.runs import Run, run
from elubench.samples import ArraySample, Sample
from elubench.samples.base import PackedSample

#: A likelihood ratio that no single Gaussian can explain away.
DECISIVE = 20.0
#: Distance of the locations from their middle, in scales, above which there are two modes.
TWO_MODES = 1.0
#: EM's contraction factor below which it is called geometric.
CONTRACTION = 0.95
#: Coordinates up to which ``auto`` takes a second-order method.
SECOND_ORDER_UP_TO = 32
#: Coordinates up to which the start comes from the second moments of all pairs.
PAIRS_UP_TO = 128

ONE_GAUSSIAN = "one Gaussian"  # the model's own
ABOUT_THE_MEAN = "one Gaussian about the mean"
LONGER = "one Gaussian longer that way"
_REMEDIES = {
    ABOUT_THE_MEAN: "Subtract the centre of X, or use the general model.",
    LONGER: "Give the columns of X equal scales and no correlation, or look at the plot for two modes.",
}

_CHI_SQUARE = 5.4119  # 98 % point of chi^2 with one degree of freedom: 99 % of half 0, half chi^2
_TRACY_WIDOM = 2.0234  # 99 % point, beta = 1
_RADII = (0.1, 0.35, 0.7, 0.9)  # of a component's distance, in units of the data's spread along it
_POINTS = 1e-12  # of the scale of one Gaussian: a component that narrow is a point
_NARROW = 0.1  # of that scale: more than three scales from the middle
_SMALL = 0.01  # of the step that EM makes, in scales, where it is within the radius
_BLOCK = 8  # directions in which EM's derivative is taken at once
_REFINEMENTS = 3  # of the block where it does not span everything
_SHOWN = 6  # coordinates printed


class Evidence(NamedTuple):
    """What the regime was read off, with the thresholds.

    ``likelihood_ratio`` is against the model's own one Gaussian, ``rival_ratio`` against the best single
    Gaussian of any kind tried, which ``rival`` names; ``half_distance`` is in scales, and
    ``contraction`` is EM's factor at the fit.
    """

    likelihood_ratio: float
    null_quantile: float
    rival_ratio: float
    rival: str
    decisive: float
    half_distance: float
    two_modes: float
    contraction: float
    contraction_limit: float


@dataclass(frozen=True)
class Fit:
    """Two Gaussians fitted to data, and the regime that the data are in.

    ``location`` is theta (d,) for models with locations -theta and theta, its largest coordinate
    positive; for general locations it is (2, d), ordered by the coordinate in which they differ most.
    ``scale`` is sigma squared, (1,) or (d,). ``log_likelihood`` is of all rows, and ``gain`` what it
    is above that of the model's one Gaussian. ``passes`` counts reads of the data, those for
    the start and the evidence included; ``seconds`` is for all of these, once the data are packed and
    the kernels loaded.
    """

    location: Floats
    scale: Floats
    log_likelihood: float
    gain: float
    status: str
    regime: str
    evidence: Evidence
    passes: float
    seconds: float
    n: int
    d: int
    model: Model
    algorithm: Algorithm
    notes: tuple[str, ...]
    run: Run = field(repr=False)

    @property
    def locations(self) -> Floats:
        """Both locations, (2, d), whatever the model."""
        one = self.location
        return one.copy() if one.ndim == 2 else np.stack([-one, one])

    def as_dict(self) -> dict[str, Any]:
        """The result as values that JSON can hold."""
        evidence = {name: _plain(value) for name, value in self.evidence._asdict().items()}
        return {
            "model": self.model.name,
            "algorithm": self.algorithm.name,
            "n": self.n,
            "d": self.d,
            "location": self.location.tolist(),
            "scale": self.scale.tolist(),
            "log_likelihood": _plain(self.log_likelihood),
            "gain": _plain(self.gain),
            "status": self.status,
            "regime": self.regime,
            "evidence": evidence,
            "advice": self.advice(),
            "notes": list(self.notes),
            "iterations": self.run.n_iter,
            "passes": self.passes,
            "seconds": self.seconds,
        }

    def advice(self) -> str:
        """What to do in this regime."""
        e = self.evidence
        if self.regime == "over-specified":
            return (
                "One Gaussian describes these data as well as two. Do not read the locations as "
                "clusters, and do not wait for EM, which crawls here."
            )
        if self.regime == "separated":
            return (
                "Two components stand clear of each other. Read the locations as such; EM gains a "
                f"digit every {_iterations(e.contraction)} and any algorithm will do."
            )
        if e.rival_ratio <= e.decisive < e.likelihood_ratio:
            return (
                f"Two components beat the model's one Gaussian, but {e.rival} does as well, so the "
                f"data need not have two parts. {_REMEDIES[e.rival]}"
            )
        if e.rival_ratio <= e.decisive:
            return (
                "There is some evidence of two components, but too little to rely on. Collect more "
                "data before you read the locations as clusters."
            )
        return (
            "Two components fit better than one, but they overlap and make a single bump. Do not "
            f"assign rows to them; EM needs {_iterations(e.contraction)} for a digit, so use "
            "newton-anderson."
        )

    def summary(self) -> str:
        """The result for a reader, in 80 columns."""
        e = self.evidence
        rows = [
            ("model", f"{self.model.name}, {_SENTENCES.get(self.model.name, 'two components')}"),
            ("data", f"n = {self.n:,}, d = {self.d}"),
            (
                "algorithm",
                f"{self.algorithm.name}: {self.status}, {self.passes:.4g} passes over the data, "
                f"{self.seconds:.2g} s",
            ),
        ]
        if self.location.ndim == 2:
            rows += [(f"location {k + 1}", _numbers(row)) for k, row in enumerate(self.location)]
        else:
            rows.append(("locations", f"minus and plus {_numbers(self.location)}"))
        rows += [
            ("scale", f"{_numbers(self.scale)} (sigma squared)"),
            ("log-likelihood", f"{self.log_likelihood:.8g}, {self.gain:.4g} above one Gaussian"),
            ("regime", self.regime),
        ]
        rival = e.rival if e.rival != ONE_GAUSSIAN else "any other Gaussian"
        because = [
            (
                "likelihood ratio to one Gaussian",
                e.likelihood_ratio,
                "data from one",
                e.null_quantile,
            ),
            (f"... to {rival}", e.rival_ratio, "weak", e.decisive),
            ("half distance in scales", e.half_distance, "one bump", e.two_modes),
            ("EM's contraction factor", e.contraction, "geometric", e.contraction_limit),
        ]
        evidence = "\n".join(
            f"  {what:<38} {value:>10.4g}   {meaning} below {limit:.3g}"
            for what, value, meaning, limit in because
        )
        rest = [("advice", self.advice()), *(("note", note) for note in self.notes)]
        blocks = ["\n".join(_row(*row) for row in part) for part in (rows, rest)]
        return "\n".join([blocks[0], evidence, blocks[1]])


def fit(
    X: Sample | ArrayLike,
    model: Model | str = "isotropic",
    algorithm: Algorithm | str = "auto",
    validation: float | None = 0.1,
    seed: int = 0,
    starts: int = 1,
    weights: ArrayLike | None = None,
    max_iter: int | None = None,
) -> Fit:
    """Fit two Gaussians of equal weight and say in which regime the data are.

    Nothing is centred or rescaled: the isotropic and the diagonal model are symmetric about 0, and a
    note says so where the mean of X is elsewhere.

    "auto" is NewtonAnderson up to d = 32 and LBFGS in natural coordinates beyond: with second-order
    sums a pass costs nine plain ones at d = 32, twenty at d = 64 and, n being small, much more for
    general locations. From the start that ``fit`` reads off the data, isotropic model, 10 samples
    each, ``python -m benchmarks.auto --samples 10 --numbers 1000000`` finds

    ========================  ==============  =======  =============  ==========
    passes, median (largest)  NewtonAnderson  LBFGS    SQUAREM        EM
    ========================  ==============  =======  =============  ==========
    d = 1, one Gaussian       5 (11)          4 (9)    50 (3000) [1]  1000 [5]
    d = 1, half distance 0.5  7 (7)           9 (9)    21 (21)        737 (806)
    d = 4, one Gaussian       1 (1)           4 (6)    21 (30)        334 (512)
    d = 4, half distance 2    1 (2)           5 (7)    6 (6)          4 (4)
    d = 32, one Gaussian      2 (2)           15 (17)  51 (63)        735 (964)
    ========================  ==============  =======  =============  ==========

    where [k] counts samples that ended more than 0.05 below the best log-likelihood found.
    NewtonAnderson and LBFGS did so on none of any model up to d = 64. From other starts LBFGS stays
    at the saddle at 0 on some samples of one Gaussian (4 of 10 at d = 1); NewtonAnderson looks past it.

    Parameters
    ----------
    X : (n, d) array-like, or a Sample.
    model : "isotropic", "diagonal", "general", or a Model.
    algorithm : "auto", its name on the command line, or an Algorithm with its options.
    validation : share of the rows that ELU, CentredELU and Simultaneous hold out to stop by. The
        other algorithms never raise the loss; they use every row and no validation. None: no early
        stopping.
    seed : of the rows held out and of further starts.
    starts : 1 is the start read off the data; others are random. The fit with the best loss is kept.
    weights : (n,) array-like; a weight of k counts a row k times. The evidence takes their sum for n.
    max_iter : budget of iterations of each run; by default 10,000, and 1,000 for those that
        have no stop of their own (ELU, CentredELU, Simultaneous).
    """
    model = named(model)
    check_algorithm(algorithm)
    starts = checks.integer(starts, "starts", 1)
    seed = checks.integer(seed, "seed", 0)
    if max_iter is not None:
        max_iter = checks.integer(max_iter, "max_iter", 1)
    if validation is not None:
        validation = checks.real(validation, "validation", 0.0, 1.0)
    if isinstance(X, Sample):
        if weights is not None:
            raise ValueError("weights are for rows; a Sample has its own")
        sample = X
    else:
        sample = ArraySample(X, weights)
    moments = sample.moments()
    if not (moments.m2 - moments.m1**2 > 1e-14 * moments.m2).any():
        raise ValueError("X does not vary: all rows are the same")
    model.check_sample(sample)
    if isinstance(algorithm, str):
        algorithm = tuned(algorithm, sample)
    chosen = algorithm.resolve(model)
    train, held = sample, None
    if validation is not None and isinstance(chosen, ELU | Simultaneous):
        split = getattr(sample, "split", None)
        if split is None:
            raise ValueError(
                f"{chosen.name} needs validation, and {type(sample).__name__} cannot be split; "
                "give validation=None to go without"
            )
        train, held = split(validation, seed=seed)
        model.check_sample(train)
    if max_iter is None:
        max_iter = 1000 if isinstance(chosen, ELU | Simultaneous) else 10_000
    # others stop by themselves, or by validation
    own = chosen.natural or isinstance(chosen, ELU | Simultaneous)
    tol = None if own else _tolerance(train)

    _load(model, sample)
    begun = time.perf_counter()
    first, reads = _start(model, train)
    passes = float(reads)
    rng = np.random.default_rng(seed)
    runs = []
    for begin in [first, *(_random_start(model, train, rng) for _ in range(starts - 1))]:
        one = run(
            train, model, chosen, begin, max_iter=max_iter, tol=tol, validation=held, metrics=False
        )
        passes += one.passes
        begun += one.compile_seconds
        runs.append(one)
        if one.status == "interrupted":
            break
    best = runs[0]
    if len(runs) > 1:
        gaps = model.gaps(train, np.stack([one.params for one in runs]))
        passes += 1
        best = runs[int(np.nanargmin(gaps))]

    read = _likelihood(model, sample, train, best.params)
    contraction, more = _contraction(model, train, best.params)
    passes += 1 + more
    weight = sample.moments().weight
    evidence = Evidence(
        2.0 * weight * (read.one_gaussian - read.loss),
        null_quantile(weight, sample.d),
        2.0 * weight * (read.best_gaussian - read.loss),
        read.rival,
        DECISIVE,
        read.half_distance,
        TWO_MODES,
        contraction,
        CONTRACTION,
    )
    return Fit(
        location=_ordered(model, best.params, sample.d),
        scale=best.scale,
        log_likelihood=-weight * read.loss,
        gain=weight * (read.one_gaussian - read.loss),
        status=best.status,
        regime=regime(evidence),
        evidence=evidence,
        passes=passes,
        seconds=time.perf_counter() - begun,
        n=sample.n,
        d=sample.d,
        model=model,
        algorithm=chosen,
        notes=_notes(model, sample, held, best),
        run=best,
    )


def null_quantile(n: float, d: int) -> float:
    """99 % point of the likelihood ratio with n rows from one Gaussian.

    The distribution at d = 1 is exact to leading order; at d >= 2 it is that of the largest eigenvalue,
    an upper bound for d = 2 and 3. ``python -m benchmarks.regimes`` compares it with draws.
    """
    if d == 1:
        return _CHI_SQUARE
    rows, columns = math.sqrt(n), math.sqrt(d)
    spread = (rows + columns) * (1.0 / rows + 1.0 / columns) ** (1.0 / 3.0)
    excess = ((rows + columns) ** 2 + _TRACY_WIDOM * spread) / n - 1.0
    return n * (excess - math.log1p(excess))


def regime(evidence: Evidence) -> str:
    """The rule, fixed beforehand: "over-specified", "separated" or "undecided"."""
    if evidence.likelihood_ratio <= evidence.null_quantile:
        return "over-specified"
    clear = (
        evidence.rival_ratio > evidence.decisive
        and evidence.half_distance > evidence.two_modes
        and evidence.contraction < evidence.contraction_limit
    )
    return "separated" if clear else "undecided"


# Which algorithm


def check_algorithm(algorithm: Algorithm | str) -> None:
    """Refuse what is neither an algorithm nor the name of one."""
    known = ("auto", *sorted(commands()))
    if not isinstance(algorithm, Algorithm) and algorithm not in known:
        raise ValueError(
            f"algorithm must be an Algorithm or one of {', '.join(known)}; got {algorithm!r}"
        )


def tuned(name: str, sample: Sample) -> Algorithm:
    """The algorithm of this name, with the options that ``fit`` gives it for a sample."""
    if name == "auto":
        name = "newton-anderson" if sample.d <= SECOND_ORDER_UP_TO else "lbfgs"
    gtol = _SMALL * sample.moments().weight ** -0.875
    if name == "lbfgs":
        return LBFGS(gtol=gtol, coordinates="natural")
    if name == "newton":
        return Newton(gtol=gtol)
    return commands()[name]()


def _tolerance(sample: Sample) -> float:
    """Steps that matter to nobody: a hundredth of EM's, n^(-7/8), at the radius n^(-1/8)."""
    moments = sample.moments()
    spread = math.sqrt(float(np.mean(moments.m2 - moments.m1**2)))
    return float(_SMALL * moments.weight**-0.875 * spread)


def _load(model: Model, sample: Sample) -> None:
    """Compile what is needed beside the run itself, or load it from the cache."""
    kernels = list(model.algebra)
    if model.natural is not None:
        kernels += [
            *model.natural.algebra,
            model.natural.from_locations,
            model.natural.to_locations,
        ]
    if isinstance(sample, PackedSample):
        threads = reduction.worth_threads(sample.tiles)
        kernels.append(reduction.pass_parallel if threads else reduction.pass_serial)
    for each in kernels:
        ready(each)


# Where to start


def _start(model: Model, sample: Sample) -> tuple[Floats, int]:
    """EM's step from the best of a few points along the direction of largest excess structure.

    The step costs nothing, being in the read that compares the points, and where the components are
    far apart it is almost the whole way. Returned with the number of passes made.
    """
    candidates, passes = [model.default_start(sample)], 0
    if isinstance(model, Isotropic | Diagonal | General):
        steps, passes = _steps(model, sample)
        candidates = [_placed(model, sample, step) for step in steps]
    em, gaps = _asked(model, sample, np.stack(candidates))
    if np.isnan(gaps).all():
        return candidates[0], passes + 1
    start = em[int(np.nanargmin(gaps))]
    single = model.scale(sample, _placed(model, sample, np.zeros(sample.d)))
    for _ in range(2):  # between narrow components the loss is steep, and EM is there in a step
        if not _POINTS < float(np.min(model.scale(sample, start) / single)) < _NARROW:
            break
        start, passes = model.em_step(sample, start), passes + 1
    if not (model.scale(sample, start) > _POINTS * single).all():
        raise ValueError(
            "X lies on two points: both components shrink to them, and the likelihood has no bound"
        )
    return start, passes + 1


def _steps(model: Model, sample: Sample) -> tuple[list[Floats], int]:
    """Half differences worth a try, and passes made."""
    moments, d = sample.moments(), sample.d
    centre = moments.m1 if isinstance(model, General) else np.zeros(d)
    square = np.maximum(moments.m2 - centre**2, 0.0)
    spread = np.sqrt(square)
    if d == 1:
        return [radius * spread for radius in _RADII], 0
    units = spread if isinstance(model, Diagonal) else np.ones(d)
    longest, direction, passes = _longest(sample, centre, units)
    total = float(d if isinstance(model, Diagonal) else np.sum(square))
    rest = (total - longest) / (d - 1)
    # covariance = rest I + delta delta^T holds for delta of the first length
    lengths = [math.sqrt(max(longest - rest, 0.0))]
    most = 1.0 if isinstance(model, Diagonal) else math.sqrt(longest)
    lengths += [radius * most for radius in _RADII[-2:]]
    steps = [length * units * direction for length in lengths]
    if isinstance(model, Diagonal) and d <= SECOND_ORDER_UP_TO:
        # components that differ in one coordinate leave no correlation
        steps += list(np.diag(0.7 * spread))
    return [step for step in steps if step.any()], passes


def _longest(sample: Sample, centre: Floats, units: Floats) -> tuple[float, Floats, int]:
    """Largest eigenvalue of the second moments about a centre, its eigenvector, and passes made.

    Beyond ``PAIRS_UP_TO`` coordinates they come from subspace iteration, which needs the
    moments times a few vectors only: T1 for a direction so short that tanh is the identity.
    """
    d = sample.d
    if d <= PAIRS_UP_TO:
        second = sample.curvature_moments(np.zeros(d)).c2 - np.outer(centre, centre)
        values, vectors = np.linalg.eigh(second / np.outer(units, units))
        return float(values[-1]), vectors[:, -1], 1
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((d, _BLOCK)))
    moments = sample.moments()
    for _ in range(_REFINEMENTS):
        u = np.ascontiguousarray((basis / units[:, None]).T)
        short = 2.0**-30 / np.sqrt(u**2 @ moments.m2)
        times = sample.tanh_moments(u * short[:, None]).t1 / short[:, None]
        times -= np.outer(u @ centre, centre)
        image = (times / units).T
        values, mixing = np.linalg.eigh(0.5 * (basis.T @ image + image.T @ basis))
        direction = basis @ mixing[:, -1]
        basis, _ = np.linalg.qr(image)
    return float(values[-1]), direction, _REFINEMENTS


def _placed(model: Model, sample: Sample, step: Floats) -> Floats:
    if isinstance(model, General):
        centre = sample.moments().m1
        return np.concatenate([centre - step, centre + step])
    return step.copy()


def _random_start(model: Model, sample: Sample, rng: np.random.Generator) -> Floats:
    """A random direction, in the units of the one-Gaussian fit; shorter until the scale is positive."""
    moments, d = sample.moments(), sample.d
    square = moments.m2 - moments.m1**2 if isinstance(model, General) else moments.m2
    spread = np.sqrt(square if isinstance(model, Diagonal) else np.full(d, np.mean(square)))
    direction = rng.standard_normal(d)
    step = spread * direction / np.linalg.norm(direction) * rng.uniform(0.3, 1.2)
    if not isinstance(model, Isotropic | Diagonal | General):
        return model.default_start(sample) * rng.uniform(0.3, 1.0)
    while not (model.scale(sample, _placed(model, sample, step)) > 0).all():
        step *= 0.7
    return _placed(model, sample, step)


# Evidence


class _Likelihood(NamedTuple):
    """Mean negative log-likelihoods: of the fit, and of single Gaussians."""

    loss: float
    one_gaussian: float
    best_gaussian: float
    rival: str
    half_distance: float


def _likelihood(model: Model, sample: Sample, train: Sample, params: Floats) -> _Likelihood:
    """One read: the loss with the scale of the rows fitted, and that of single Gaussians."""
    fitted, m = train.moments(), sample.moments()
    d = sample.d
    u = np.empty((2, d))
    b = np.empty(2)
    b[0] = ready(model.algebra.direction)(params, fitted.m1, fitted.m2, u[0])
    # tanh is the identity on small numbers: this direction brings the second moment along u
    shrunk = 2.0**-30 / max(1.0, math.sqrt(float(np.sum(u[0] ** 2 * m.m2))))
    u[1], b[1] = shrunk * u[0], shrunk * b[0]
    rows = sample.sums(u, b, layout.LOG_COSH)
    gap = ready(model.algebra.gap)(
        params, fitted.m1, fitted.m2, m.m1, m.m2, rows[0, layout.log_cosh_at(d)]
    )
    loss = float(gap) + model.one_gaussian_loss(fitted, m)
    own = model.one_gaussian_loss(m, m)
    rivals = {ONE_GAUSSIAN: own}
    scale = np.broadcast_to(model.scale(train, params), d)
    between = float(np.sum(u[0] ** 2 * scale))  # the squared half distance in scales
    if model.even:
        variance = m.m2 - m.m1**2
        if len(scale) == model.n_scales(d):
            total = float(np.sum(np.log(variance))) if (variance > 0).all() else math.inf
        else:
            total = d * math.log(float(np.mean(variance)))
        rivals[ABOUT_THE_MEAN] = 0.5 * (total + d * math.log(2.0 * math.pi) + d)
    if d > 1:
        centre = np.zeros(d) if model.even else 0.5 * (params[:d] + params[d:])
        along = (
            float(rows[1, layout.T1 : layout.T1 + d] @ u[0]) + b[0] * rows[1, layout.T0]
        ) / shrunk
        about = m.m2 - 2.0 * centre * m.m1 + centre**2
        total = float(np.sum(np.log(2.0 * math.pi * scale) + about / scale))
        stretch = float(along / between) if between > 0.0 else 1.0
        if stretch > 1.0:
            total += math.log(stretch) - stretch + 1.0
        rivals[LONGER] = 0.5 * total
    rival = min(rivals, key=lambda name: rivals[name])
    return _Likelihood(loss, own, rivals[rival], rival, math.sqrt(between))


def _contraction(model: Model, sample: Sample, params: Floats) -> tuple[float, int]:
    """The largest eigenvalue of the derivative of EM's step, by differences, and passes made.

    One read serves a whole block of directions. Up to a block's size they span everything; beyond,
    the block is refined by subspace iteration.
    """
    p, d = len(params), sample.d
    scale = np.sqrt(np.broadcast_to(model.scale(sample, params), d))
    offset = params if model.even else 0.5 * (params[d:] - params[:d])
    units = np.resize(scale, p)
    # on the curve the scale falls as components move apart: stay well within one scale
    h = 1e-4 / (1.0 + float(np.max(np.abs(offset) / scale)) * math.sqrt(d))
    block = min(p, _BLOCK)
    basis = np.eye(p)
    if block < p:
        wanted = np.random.default_rng(0).standard_normal((p, block))
        wanted[:, 0] = (params if model.even else np.concatenate([-offset, offset])) / units
        basis, _ = np.linalg.qr(wanted)
    passes = 1 if block == p else _REFINEMENTS
    values = np.ones(1)
    for _ in range(passes):
        points = np.ascontiguousarray(np.vstack([params, params + h * units * basis.T]))
        em, _ = _asked(model, sample, points, want=0)
        moved = ((em[1:] - em[0]) / (h * units)).T
        if not np.isfinite(moved).all():
            return math.nan, passes
        values = np.linalg.eigvals(basis.T @ moved)
        basis, _ = np.linalg.qr(moved)
    return float(min(np.max(np.abs(values)), 1.0)), passes


def _asked(
    model: Model, sample: Sample, points: Floats, want: int = layout.LOG_COSH
) -> tuple[Floats, Floats]:
    """EM's step from every point and, where wanted, the loss less that of one Gaussian, in one read."""
    m = sample.moments()
    u, b = np.empty((len(points), sample.d)), np.empty(len(points))
    for k, point in enumerate(points):
        b[k] = ready(model.algebra.direction)(point, m.m1, m.m2, u[k])
    rows = sample.sums(u, b, want, even=model.even)
    em, gaps = np.empty_like(points), np.full(len(points), math.nan)
    unused = np.empty(points.shape[1])
    for k, (point, row) in enumerate(zip(points, rows, strict=True)):
        ready(model.algebra.respond)(point, m.m1, m.m2, row, em[k], unused)
        if want:
            log_cosh = row[layout.log_cosh_at(sample.d)]
            gaps[k] = ready(model.algebra.gap)(point, m.m1, m.m2, m.m1, m.m2, log_cosh)
    return em, gaps


def _notes(model: Model, sample: Sample, held: Sample | None, best: Run) -> tuple[str, ...]:
    notes = []
    m = sample.moments()
    if model.even:
        variance = np.maximum(m.m2 - m.m1**2, np.finfo(float).tiny)
        offset = float(np.max(np.abs(m.m1) / np.sqrt(variance / m.weight)))
        if offset > 5.0:
            notes.append(
                f"the {model.name} model is symmetric about 0, but the mean of X is {offset:.3g} "
                "standard errors away from it; subtract a centre, or use the general model"
            )
    if held is not None:
        notes.append(
            f"{held.n:,} rows were held out; of all iterates the one with the best likelihood on "
            "them was kept"
        )
    if best.status == "max_iter" and held is None:
        notes.append("max_iter ended the run: more iterations would raise the likelihood further")
    if best.status == "diverged" and held is None:
        notes.append("the run diverged; this is its last iterate with a positive scale")
    if best.status == "interrupted":
        notes.append("the run was interrupted; this is as far as it came")
    return tuple(notes)


# How results are shown

_SENTENCES = {
    "isotropic": "(1/2) N(-theta, s I) + (1/2) N(theta, s I)",
    "diagonal": "(1/2) N(-theta, diag(s)) + (1/2) N(theta, diag(s))",
    "general": "(1/2) N(theta_1, s I) + (1/2) N(theta_2, s I)",
}


def _ordered(model: Model, params: Floats, d: int) -> Floats:
    """Locations with the freedom of the labels taken out; -0 is 0."""
    if model.even:
        sign = -1.0 if params[np.argmax(np.abs(params))] < 0.0 else 1.0
        return sign * params + 0.0
    pair = params.reshape(2, d)
    at = int(np.argmax(np.abs(pair[1] - pair[0])))
    return (pair if pair[0, at] <= pair[1, at] else pair[::-1]) + 0.0


def _plain(value: Any) -> Any:
    """What JSON has no number for is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _iterations(contraction: float) -> str:
    if not contraction < 1.0:
        return "no end of iterations"
    if contraction <= 0.1:
        return "iteration"
    return f"{math.ceil(math.log(10.0) / -math.log(contraction)):,} iterations"


def _numbers(values: Sequence[float] | Floats) -> str:
    shown = "  ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}  ... ({len(values)} in all)"


def _row(name: str, value: str) -> str:
    indent = 16
    return textwrap.fill(
        value,
        width=80,
        initial_indent=f"{name:<{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
