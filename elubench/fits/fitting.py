"""``fit``: from data to two Gaussians, with a start, a run and a regime."""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.algorithms import Algorithm, NewtonAnderson
from elubench.checks import Floats
from elubench.fits import evidence, goodness, nulls, placing, regimes, unequal
from elubench.fits.choosing import check_algorithm, eased, joined, tolerance, tuned
from elubench.fits.ending import ended
from elubench.fits.result import Fit
from elubench.fits.starts import starts as starts_of
from elubench.kernels import compile_seconds, interrupts, layout, ready
from elubench.models import Model
from elubench.models.known import named
from elubench.runs import Run
from elubench.runs.trace import moved
from elubench.samples import CondensedSample, Sample
from elubench.samples.base import CONDENSING, Read, Sums
from elubench.samples.metered import Metered
from elubench.samples.prices import Bill

_CONSTANT = 1e-14  # variance over second moment that is rounding
_LEFT = 0.05  # gain in log-likelihood that a run which has converged may leave to EM


def fit(
    X: Sample | ArrayLike | PathLike[str],
    model: Model | str = "general",
    algorithm: Algorithm | str = "auto",
    validation: float | None = 0.1,
    seed: int = 0,
    starts: int = 1,
    weights: ArrayLike | None = None,
    max_iter: int | None = None,
    level: float = 0.05,
) -> Fit:
    """Fit two Gaussians and say in which regime the data are.

    They have equal weights, unless the model is :class:`General` with another ``mixing``. A note says if
    the parts of the data are of unequal size.

    Nothing is centred or rescaled: the isotropic and the diagonal model are symmetric about 0, and a
    note says so if the mean of X is elsewhere. (Far from 0 the general model is fitted to the
    differences from the mean, in a second copy of X; this changes rounding errors only.) From 50,000
    rows on, X of one column is read once, as a :class:`CondensedSample`, and passes are over that; only
    where components are so narrow that it would cost digits do they read the rows again.

    The likelihood has several maxima. Parts of equal and of unequal size along the directions in which
    the data spread most are compared, a few steps of EM refine the better ones, and the best two are
    run. Few rows without two clear parts have more maxima: random candidates are compared as well, and
    up to four are run. Of more than 16,384 rows a part is enough for this. The estimate from the moments
    of all rows is among the starts, and the only one where a part shows no more than one Gaussian would.
    On the diagonal model, whose maxima valleys join, a second run that is not ahead of the first after
    three iterations ends there. If no run ends above one Gaussian, that is the answer. The last pass of
    a run serves likelihood and regime, too.

    "auto" is NewtonAnderson up to d = 32 and LBFGS in natural coordinates beyond, where second-order
    passes cost too much. NewtonAnderson stops where the log-likelihood would gain less than 1e-4, or
    1e-6 up to 32,768 rows, where a pass costs nothing. If more rows show no more than one Gaussian
    would, it is 0.01, about a tenth of a standard error, except on the diagonal model.
    ``python -m benchmarks.auto`` counts the passes that every algorithm needs from the same starts, and
    how often it ends below the best log-likelihood found.

    Parameters
    ----------
    X : (n, d) array-like, a Sample, the path of a file, or a Dask array or DataFrame.
    model : "isotropic", "diagonal", "general", "known-scale", or a Model with equal weights.
    algorithm : "auto", a name from the command line, or an Algorithm with its options.
    validation : fraction of the rows that ELU, CentredELU and Simultaneous hold out to decide when to
        stop. The other algorithms never raise the loss and use every row. None: no early stopping.
    seed : of the choice of held-out rows and of random starts.
    starts : 1 for those read off the data; each further one is random. The best fit is kept.
    weights : (n,) array-like; a weight of k counts a row k times. The evidence takes their sum for n.
    max_iter : iterations per run; by default 10,000, and 1,000 for ELU, CentredELU and Simultaneous,
        which do not stop by themselves.
    level : how often data from one Gaussian may be taken for two.

    Ctrl-C ends the fit with the status "interrupted" and the best point found so far, as soon as there
    is one: when the first candidates have been compared.
    """
    model = named(model)
    check_algorithm(algorithm)
    if not model.balanced:
        raise ValueError(f"model must have equal weights to be fitted, got {model}; use run")
    starts = checks.integer(starts, "starts", 1, checks.MOST)
    seed = checks.integer(seed, "seed", 0)
    level = checks.real(level, "level", 0.0, 1.0)
    if max_iter is not None:
        max_iter = checks.integer(max_iter, "max_iter", 1, checks.MOST)
    if validation is not None:
        validation = checks.real(validation, "validation", 0.0, 1.0)
    sample, origin = placing.placed(placing.read(X, weights), model)
    moments = sample.moments()
    model.check_sample(sample)
    ours = isinstance(algorithm, str)  # then its options are ours to choose
    if isinstance(algorithm, str):
        algorithm = tuned(algorithm, sample)
    chosen = algorithm.resolve(model)
    train, held = sample, None
    if validation is not None and chosen.diverges:
        split = getattr(sample, "split", None)
        if split is None:
            raise ValueError(
                f"X must be a sample that can be split, as {chosen.name} needs validation, "
                f"got {type(sample).__name__}; pass validation=None to go without"
            )
        try:
            train, held = split(validation, seed=seed)
        except ValueError as error:
            raise ValueError(f"validation must be None for so few rows: {error}") from None
        model.check_sample(train)
    if max_iter is None:
        max_iter = 1000 if chosen.diverges else 10_000

    begun, compiled = time.perf_counter(), compile_seconds()
    every = Metered(sample)
    used = every.part(train)
    _check_columns(model, used)
    with interrupts.held() as presses:
        begins, flat = starts_of(model, used, presses.stopped)
        interrupted = presses.stopped()
    if ours and flat:
        chosen = eased(chosen, model, train)
    runs, interrupted = ended(
        chain(begins, _further(model, train, starts - 1, seed)),
        interrupted, train, used, model, chosen,
        rivals=len(begins) - 1 if joined(model, chosen, train) else 0,
        max_iter=max_iter, tol=tolerance(chosen, train), validation=held,
    )  # fmt: skip
    with interrupts.held() as presses:
        best = runs[0]
        if len(runs) > 1:
            gaps = model.gaps(used, np.stack([one.params for one in runs]))
            best = runs[0] if np.isnan(gaps).all() else runs[int(np.nanargmin(gaps))]
        params, fitted, notes = best.params, used, _notes(model, sample, held, best)
        _read_at(model, used, params)
        found = evidence.likelihood(model, every, used, params)
        if not found.loss <= found.one_gaussian:
            params, fitted = model.truth(model.centre(moments), sample.d), every
            found = found._replace(
                loss=found.one_gaussian, best_gaussian=found.one_gaussian, half_distance=0.0,
                rival=regimes.ONE_GAUSSIAN,
            )  # fmt: skip
            notes.append(
                "no run ended above one Gaussian, so the answer is one Gaussian, given twice"
            )
        factor, left, _ = evidence.contraction(model, fitted, params)
        ratio = 2.0 * moments.weight * (found.one_gaussian - found.loss)
        clear = ratio > regimes.DECISIVE and best.status == "converged"
        notes += unequal.notes(model, fitted, params, clear)
        interrupted = interrupted or presses.stopped()
    status = best.status
    if status == "converged" and left > _LEFT:
        status = "stalled"
        amount = f"about {left:.2g}" if factor < 1.0 else "an unknown amount"  # at a saddle
        notes.append(
            f"{chosen.name} stopped where EM would still gain {amount} in log-likelihood; use "
            + ("a smaller precision" if isinstance(chosen, NewtonAnderson) else "newton-anderson")
        )
    if interrupted:
        status = "interrupted"
        notes.append("the fit was interrupted; this is the best point that it had found")
    located, scale = model.ordered(params), model.scale(fitted, params)
    shares = model.weights(params)
    size, picked = sample.n, sample.picker(goodness.ROWS)

    def gathered() -> regimes.Signs:
        modes = found.half_distance > regimes.TWO_MODES
        shape = goodness.shape(model, picked(), size, params, scale, modes)
        null = nulls.critical(model, moments.weight, len(moments.m1), level)
        return evidence.signs(found, factor, null, moments.weight, shape)

    return Fit(
        location=located + origin,
        weights=shares,
        scale=scale,
        log_likelihood=-moments.weight * found.loss,
        gain=moments.weight * (found.one_gaussian - found.loss),
        status=status,
        gathered=gathered,
        passes=every.passes + sum(one.passes for one in runs),
        seconds=max(time.perf_counter() - begun - (compile_seconds() - compiled), 0.0),
        n=sample.n,
        d=sample.d,
        model=model,
        algorithm=chosen,
        notes=(*placing.digits(model, sample, origin), *notes),
        bill=_bill(sample, held, every.reads, runs),
        run=moved(best, origin),
        weight=moments.weight,
        sample=sample,
        origin=origin,
    )


def _further(model: Model, sample: Sample, count: int, seed: int) -> Iterator[Floats]:
    """Random starts."""
    if count:
        rng = np.random.default_rng(seed)
        yield from (model.random_start(sample, rng) for _ in range(count))


def _bill(
    sample: Sample, held: Sample | None, reads: Iterable[tuple[Read, float]], runs: Iterable[Run]
) -> Bill:
    """All that was read of a sample: to condense it, for starts and evidence, and in runs."""
    total: dict[Read, float] = defaultdict(float)
    if isinstance(sample, CondensedSample) and sample.condensed_to < sample.n:
        total[Read(CONDENSING)] = (
            1.0 if held is None else 2.0
        )  # the parts of a split are condensed, too
    for read, amount in reads:
        total[read] += amount
    for one in runs:
        for read, amounts in one.bill.reads.items():
            total[read] += float(amounts[-1])
    return Bill(sample.n, sample.d, dict(total))


def _check_columns(model: Model, sample: Sample) -> None:
    """Raise ValueError if the likelihood is unbounded because of a column."""
    columns = model.collapsing(sample)
    if columns:
        raise ValueError(
            f"X must have columns of more than one absolute value for the {model.name} model, whose "
            f"likelihood is unbounded otherwise, got column {_listed(columns)}; leave it out"
        )


def _read_at(model: Model, sample: Metered, params: Floats) -> None:
    """One pass for all that is asked about a point afterwards, unless it is known."""
    want, m = layout.LOG_COSH | layout.CURVATURE, sample.moments()
    if sample.d <= NewtonAnderson.up_to:
        u = np.empty((1, sample.d))
        b = np.array([ready(model.algebra.direction)(params, *model.inputs(m), u[0])])
        row = sample.sums(u, b, want, even=model.even)[0]
        sample.remember(Sums(u[0], float(b[0]), want, row))


def _listed(columns: Iterable[int]) -> str:
    """Columns counted from 1."""
    return ", ".join(str(column + 1) for column in columns)


def _notes(model: Model, sample: Sample, held: Sample | None, best: Run) -> list[str]:
    notes = []
    m = sample.moments()
    variance = m.m2 - m.m1**2
    constant = variance <= _CONSTANT * m.m2
    if constant.any():
        columns = _listed(np.flatnonzero(constant).tolist())
        notes.append(
            f"column {columns} of X is constant: it holds nothing to tell components apart, "
            "but counts in the common scale; leave it out"
        )
    if m.weight != sample.n:
        notes.append(f"rows count as often as their weights say: n = {m.weight:.6g} for the tests")
    if not model.translates:
        with np.errstate(over="ignore"):
            spread = np.sqrt(np.maximum(variance, sys.float_info.min))
            away = np.abs(m.m1 - model.centre(m)) / spread
            offset = float(away.max()) * math.sqrt(m.weight)
        if offset > 5.0:
            notes.append(
                f"the {model.name} model is symmetric about 0, but the mean of X is {offset:.3g} "
                "standard errors away from 0; subtract a centre, or use the general model"
            )
    if held is not None:
        notes.append(
            f"{held.n:,} rows were held out; the iterate with the best likelihood on them was kept"
        )
    if best.status == "max_iter" and held is None:
        notes.append("max_iter ended the run: more iterations would raise the likelihood further")
    if best.status == "diverged" and held is None:
        notes.append("the run diverged; this is its last iterate with a positive scale")
    return notes
