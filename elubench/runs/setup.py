"""A run that is set up: arguments checked, arrays allocated, nothing iterated yet."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elubench import checks
from elubench.algorithms.base import Algorithm
from elubench.checks import Floats
from elubench.kernels import layout, loops, many
from elubench.kernels.loops import Functions, Work
from elubench.kernels.many import at_points
from elubench.models.base import Algebra, Model
from elubench.models.known import named
from elubench.samples import ArraySample, Sample
from elubench.samples.base import PASS, Read
from elubench.samples.opening import loaded
from elubench.samples.prices import Bill

_DENSE = 128  # iterations that are all recorded; then _PER_DECADE
_PER_DECADE = 64
_TRACE_BYTES = 8e6


# as it is written: from Python, that is quicker than to ask Numba
_record = getattr(loops.record, "py_func", loops.record)


class StationaryStartWarning(UserWarning):
    """Both components start at the same place, which EM and gradient steps cannot leave."""


class Stop(NamedTuple):
    """When a run stops, besides divergence and the algorithm's own criterion."""

    max_iter: int
    radius: float | None
    tol: float | None

    @classmethod
    def checked(cls, max_iter: Any, radius: Any, tol: Any) -> Stop:
        """The same, or an error that names the argument."""
        return cls(
            checks.integer(max_iter, "max_iter", 0, checks.MOST),
            None if radius is None else checks.real(radius, "radius", above=0.0),
            None if tol is None else checks.real(tol, "tol", above=0.0, closed="above"),
        )


class Truth(NamedTuple):
    """What errors are measured from: parameters and scale, either of which may be unknown."""

    params: Any
    scale: Any

    def checked(self, model: Model, d: int, radius: float | None) -> Truth:
        """The same as arrays; with a radius the parameters are by default those of location 0."""
        params = scale = None
        if self.params is not None:
            params = checks.vector(self.params, "truth", model.n_params(d))
        elif radius is not None:
            params = model.truth(0.0, d)
        if self.scale is not None:
            count = model.n_scales(d)
            scale = checks.coordinates(self.scale, "true_scale", count)
        return Truth(params, scale)


@dataclass
class Setup:
    """Everything that a driver needs; ``work`` is all that changes.

    The rows, the start and the truth are those given minus ``origin`` (d,), which is 0 unless the data
    lie far from 0; results have it added again.
    """

    train: Sample
    held: Sample | None
    model: Model
    algorithm: Algorithm
    start: Floats
    stop: Stop
    truth: Truth
    work: Work
    origin: Floats
    #: Reads that a driver made itself: passes by then, passes of them, what was read and how much.
    noted: list[tuple[int, int, Read, float]] = field(default_factory=list)
    #: What the compiled loop reads, which its driver puts here.
    read: Any = None

    @property
    def algebra(self) -> Algebra:
        """The model's functions in the coordinates in which the algorithm moves."""
        if self.algorithm.natural:
            assert self.model.natural is not None
            return self.model.natural.algebra
        return self.model.algebra

    def functions(self, reduce: Any, reduce_held: Any) -> Functions:
        """The kernels that the compiled loop calls, with these passes over the two samples."""
        _, direction, respond, gap, hessian, error = self.algebra
        update = self.algorithm.update
        return Functions(reduce, reduce_held, direction, respond, gap, hessian, error, update)

    def locations(self, points: Floats) -> Floats:
        """Parameters (..., p) from points in the algorithm's coordinates."""
        if not self.algorithm.natural:
            return points.copy()
        assert self.model.natural is not None
        return _changed(
            self.model.natural.to_locations, points, self.model.inputs(self.train.moments())
        )

    def begin(self) -> None:
        """Judge and record the start itself, once."""
        work, stop = self.work, self.stop
        if work.counters[loops.RECORDS]:
            return
        validation = math.nan
        if self.held is not None:
            validation = self.model.gap(self.held, self.start, self.train.moments())
            work.counters[loops.VALIDATIONS] = 1
            work.limits[loops.BEST] = validation
        if stop.radius is not None:
            distance = self.model.location_error(self.start, self.truth.params)
            if distance <= stop.radius:
                work.counters[loops.STATUS] = loops.REACHED
        if work.counters[loops.STATUS] == loops.RUNNING and stop.max_iter == 0:
            work.counters[loops.STATUS] = loops.MAX_ITER
        work.report[layout.STEP] = math.nan
        self.record(validation)

    def record(self, validation: float) -> None:
        """Keep the iterate for the trace."""
        _record(validation, self.work)

    def note(self, passes: int, read: list[tuple[Read, float]]) -> None:
        """Count passes that a driver made itself, with what was read in them."""
        self.work.counters[loops.PASSES] += passes
        at = int(self.work.counters[loops.PASSES])
        for kind, amount in read:
            self.noted.append((at, passes, kind, amount))
            passes = 0

    @property
    def rows(self) -> int:
        """Of the data given to the run."""
        return self.train.n + (0 if self.held is None else self.held.n)

    def passes(self, training: Any, validations: Any) -> Any:
        """Reads of the data given to the run."""
        if self.held is None:
            return 1.0 * training
        share = self.train.n / self.rows
        return training * share + validations * (1.0 - share)

    def bill(self, training: Floats, validations: Floats) -> Bill:
        """What was read by the time of these passes over the training and the held-out sample."""
        share, algorithm = self.train.n / self.rows, self.algorithm
        usual = Read(PASS, algorithm.want, algorithm.points)
        kinds = {usual, *(kind for _, _, kind, _ in self.noted)}
        reads = {kind: share * self._noted_by(training, kind) for kind in kinds}
        looped = training - self._noted_by(training, None)
        reads[usual] = reads[usual] + share * self.train.share * looped
        if self.held is not None:
            loss = Read(PASS, layout.LOG_COSH)
            held = (1.0 - share) * self.held.share * validations
            reads[loss] = held + reads.get(loss, 0.0)
        return Bill(self.rows, self.train.d, reads)

    def _noted_by(self, training: Floats, kind: Read | None) -> Floats | float:
        """How much of a kind was noted in so many passes; without a kind, the passes themselves."""
        if not self.noted:
            return 0.0
        some = [
            (at, float(passes) if kind is None else amount)
            for at, passes, read, amount in self.noted
            if kind in (None, read)
        ]
        at, amounts = np.array(some).reshape(-1, 2).T
        total: Floats = np.concatenate([[0.0], np.cumsum(amounts)])
        return total[np.searchsorted(at, training, side="right")]


def split(
    sample: Any, validation: Any, seed: int, name: str = "sample"
) -> tuple[Sample, Sample | None]:
    """The samples to iterate on and to validate on."""
    seed = checks.integer(seed, "seed", 0)
    sample = loaded(sample)
    if not isinstance(sample, Sample):
        sample = ArraySample(checks.table(sample, name))
    if validation is None:
        return sample, None
    if isinstance(validation, Sample):
        if validation.d != sample.d:
            raise ValueError(
                f"validation must have d={sample.d} coordinates like the sample, got {validation.d}"
            )
        return sample, loaded(validation)
    share = checks.real(validation, "validation", 0.0, 1.0)
    if not hasattr(sample, "split"):
        kind = type(sample).__name__
        raise ValueError(f"validation must be a Sample, since {kind} cannot be split; got {share}")
    train, held = sample.split(share, seed=seed)
    return train, held


def set_up(
    data: tuple[Sample, Sample | None],
    model: Model | str,
    algorithm: Algorithm,
    start: Any,
    stop: Stop,
    truth: Truth,
) -> Setup:
    """Check what a run is given and allocate its arrays."""
    train, held = data
    model = named(model)
    if not isinstance(algorithm, Algorithm):
        raise TypeError(
            f"algorithm must be an Algorithm such as EM(), got {checks.brief(algorithm)}"
        )
    algorithm = algorithm.resolve(model)
    origin = origin_for(model, train, held)
    truth = truth.checked(model, train.d, stop.radius)
    if origin.any():
        moved = np.tile(origin, 2)
        train, held = train.about(origin), None if held is None else held.about(origin)
        if start is not None:
            start = checks.vector(start, "start", moved.size) - moved
        if truth.params is not None:
            truth = truth._replace(params=truth.params - moved)
    if start is None:
        start = model.default_start(train)
    name = "start (minus the mean of the sample)" if origin.any() else "start"
    start = model.check_params(train, start, name)
    if model.is_stationary_start(start):
        warnings.warn(
            "start has both components at the same place; EM and gradient steps cannot leave it",
            StationaryStartWarning,
            stacklevel=3,
        )
    place = start
    if algorithm.natural:
        assert model.natural is not None  # resolve has seen to it
        place = _changed(model.natural.from_locations, start, model.inputs(train.moments()))
    work = _work(algorithm, place, train, stop, truth)
    return Setup(train, held, model, algorithm, start, stop, truth, work, origin)


def origin_for(model: Model, *samples: Sample | None) -> Floats:
    """The point (d,) about which to fit a model to the first sample: 0 if it is not far from there.

    All samples must be able to move, and the model to follow.
    """
    given = [one for one in samples if one is not None]
    movable = model.translates and all(type(one).about is not Sample.about for one in given)
    return given[0].origin() if movable else np.zeros(given[0].d)


def _changed(change: Any, points: Floats, inputs: tuple[Floats, Floats]) -> Floats:
    """Points (..., p) in other coordinates."""
    out = np.empty(points.shape)
    flat = (-1, points.shape[-1])
    at_points(many.each, change, points.reshape(flat), *inputs, out.reshape(flat))
    return out


def _work(algorithm: Algorithm, start: Floats, sample: Sample, stop: Stop, truth: Truth) -> Work:
    p, k, d = len(start), algorithm.points, sample.d
    schedule = _schedule(stop.max_iter, p)
    curved = p if algorithm.want & layout.CURVATURE else 0
    limits = [math.nan if limit is None else limit for limit in (stop.radius, stop.tol)]
    return Work(
        counters=np.zeros(loops.COUNTERS_SIZE, dtype=np.int64),
        limits=np.array([*limits, math.inf]),
        options=algorithm.options(float(sample.n_weighted)),
        state=np.zeros(algorithm.state_size(p)),
        report=np.zeros(layout.REPORT_SIZE),
        truth=np.zeros(p) if truth.params is None else truth.params.copy(),
        iterate=start.copy(),
        previous=start.copy(),
        selected=start.copy(),
        points=np.repeat(start[None], k, axis=0),
        em=np.empty((k, p)),
        gradient=np.empty((k, p)),
        gap=np.full(k, math.nan),
        hessian=np.empty((k, curved, curved)),
        u=np.empty((k, d)),
        b=np.full(k, math.nan),
        sums=np.empty((k, layout.width(d, algorithm.want))),
        validation_sums=np.empty((1, layout.width(d, layout.LOG_COSH))),
        schedule=schedule,
        recorded=np.empty((len(schedule) + 1, p)),
        records=np.empty((len(schedule) + 1, loops.RECORD_SIZE)),
    )


@cache
def _schedule(max_iter: int, p: int) -> NDArray[np.int64]:
    """Iterations to record: 0, every early one, then logarithmically spaced, within a few MB."""
    most = max(16.0, _TRACE_BYTES / (8.0 * (p + 16)))
    thin = min(1.0, most / (_DENSE + 8 * _PER_DECADE))
    dense = max(8, int(_DENSE * thin))
    early = np.arange(min(dense, max_iter) + 1)
    if max_iter <= dense:
        return early
    decades = math.log10(max_iter / dense)
    late = np.geomspace(dense, max_iter, 2 + int(decades * max(2.0, _PER_DECADE * thin)))
    return np.unique(np.concatenate([early, np.rint(late).astype(np.int64)]))
