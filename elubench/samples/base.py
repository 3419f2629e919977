"""What a sample is: n weighted rows of d numbers that give out sums, never the rows.

The rest of the package reads data through :class:`Sample` only. A new kind of sample (on disk, on a
cluster) says how to make one pass; models, algorithms and runs work on it unchanged.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import layout, moments, packing, reduction
from elubench.kernels._jit import ready
from elubench.kernels.tiles import Tiles, aligned

_LOOKED_THROUGH = 1 << 17  # rows among which the farthest are looked for
_FAR = 1e3  # standard deviations from 0: raw second moments have lost 6 of 16 digits there


class RawMoments(NamedTuple):
    """Total weight W, first moments m1 (d,) and raw second moments m2 (d,) of the coordinates."""

    weight: float
    m1: Floats
    m2: Floats


class Shape(NamedTuple):
    """Means of z z^T (d, d) and z^4 (d,), where z is the row less a centre, over units."""

    second: Floats
    fourth: Floats

    @property
    def excess_kurtosis(self) -> Floats:
        """Of each coordinate (d,): 0 for a Gaussian about this centre, NaN for a constant."""
        variance = np.diagonal(self.second)
        with np.errstate(invalid="ignore", divide="ignore"):
            kurtosis: Floats = self.fourth / variance**2 - 3.0
        return kurtosis


class TanhMoments(NamedTuple):
    """T0, T1 and the mean log cosh of one pass; the last is None unless requested."""

    t0: Any
    t1: Floats
    log_cosh: Any


class CurvatureMoments(NamedTuple):
    """One pass with second-order sums: C0, C1 (d,) and C2 (d, d) have weights sech^2(y)."""

    t0: float
    t1: Floats
    log_cosh: float
    c0: float
    c1: Floats
    c2: Floats


#: Kinds of reads: a pass, second and fourth moments, replacing rows by weighted points.
PASS, SHAPE, CONDENSING = "pass", "shape", "condensing"


class Read(NamedTuple):
    """A kind of read of the data; a pass has a ``want`` and evaluates a number of points."""

    what: str
    want: int = 0
    points: int = 1


class Sums(NamedTuple):
    """A row of a pass: its direction u (d,) and offset b, and what was wanted."""

    u: Floats
    b: float
    want: int
    row: Floats


class Sample(ABC):
    """n rows of d numbers with weights.

    A subclass provides ``n``, ``d``, :meth:`moments`, :meth:`sums` and :meth:`shape_about`.
    """

    n: int
    d: int

    @property
    def n_weighted(self) -> int:
        """Number of rows with a positive weight; by default n.

        Tolerances follow it. Unlike the total weight, it stays when all weights are multiplied.
        """
        return self.n

    @property
    def share(self) -> float:
        """Of the n rows, the share that a read takes the time of: 1, unless they were condensed."""
        return 1.0

    def reads_for(self, u: Floats, b: Floats, want: int) -> list[tuple[Read, float]]:
        """What :meth:`sums` reads for these directions: kinds of reads, and shares of the n rows."""
        return [(Read(PASS, want, len(u)), self.share)]

    def origin(self) -> Floats:
        """A point (d,) close to the rows if these lie far from 0, else 0.

        Far away, the differences m2 - m1^2 lose their digits, and work is better done on
        :meth:`about` this point. A sample that cannot be moved says 0.
        """
        return np.zeros(self.d)

    def about(self, origin: Floats) -> Sample:
        """The sample of the rows minus ``origin`` (d,), which needs memory of its own."""
        raise TypeError(f"{type(self).__name__} cannot be moved")

    def thinned(self, rows: int) -> Sample:
        """A sample of about this many of the rows, for a first look; by default all of them."""
        return self

    def picked(self, count: int) -> Floats | None:
        """At most this many of the rows (m, d), spread over all of them; None if rows are not kept."""
        return None

    def picker(self, count: int) -> Callable[[], Floats | None]:
        """Gives :meth:`picked` later, when a file, a cluster or the caller's array may have changed."""
        rows = self.picked(count)
        return lambda: rows

    def farthest(self, count: int) -> Floats:
        """Up to so many rows (k, d), those farthest from the mean; by default none.

        A component of its own may lie there, and no sum over all rows would tell.
        """
        return np.empty((0, self.d))

    @abstractmethod
    def moments(self) -> RawMoments:
        """Total weight and moments of the coordinates, computed once."""

    @abstractmethod
    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        """One pass for directions u (k, d) and offsets b (k,): rows of results (k, width).

        ``want`` is a sum of ``layout.LOG_COSH`` and ``layout.CURVATURE``. With ``even`` the caller
        promises that b is 0 and T0 unused, so that a symmetric sample may read half its rows.
        """

    @abstractmethod
    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        """Second and fourth moments of (x - centre) / units, both (d,), in one read.

        With ``even`` the caller promises that the centre is 0.
        """

    def shape(self, centre: ArrayLike | None = None) -> Shape:
        """The same about a centre (d,), by default the mean, in standard deviations; one read."""
        m = self.moments()
        about = m.m1 if centre is None else checks.coordinates(centre, "centre", self.d)
        variance = np.maximum(m.m2 - m.m1**2, 0.0)
        return self.shape_about(about, np.sqrt(np.where(variance > 0.0, variance, 1.0)))

    def tanh_moments(self, u: ArrayLike, b: ArrayLike = 0.0, log_cosh: bool = False) -> TanhMoments:
        """T0 = mean w tanh(y), T1 = mean w tanh(y) x and, on request, mean w log cosh(y).

        Here y = x.u + b. ``u`` is (d,), or (k, d) for k directions in one read of the data; ``b`` is
        a number or (k,). The results have the shape of ``u`` without its last axis.
        """
        directions, offsets, single = self._directions(u, b)
        out = self.sums(directions, offsets, layout.LOG_COSH if log_cosh else 0)
        t0, t1 = out[:, layout.T0], out[:, layout.T1 : layout.T1 + self.d]
        cosh = out[:, layout.log_cosh_at(self.d)] if log_cosh else None
        if not single:
            return TanhMoments(t0, t1, cosh)
        return TanhMoments(float(t0[0]), t1[0], None if cosh is None else float(cosh[0]))

    def curvature_moments(self, u: ArrayLike, b: float = 0.0) -> CurvatureMoments:
        """The pass with log cosh and the sums weighted by sech^2(y), for one direction u (d,)."""
        directions, offsets, single = self._directions(u, b)
        if not single:
            raise ValueError(f"u must have shape ({self.d},), got {np.shape(u)}")
        d = self.d
        row = self.sums(directions, offsets, layout.LOG_COSH | layout.CURVATURE)[0]
        return CurvatureMoments(
            float(row[layout.T0]),
            row[layout.T1 : layout.T1 + d],
            float(row[layout.log_cosh_at(d)]),
            float(row[layout.c0_at(d)]),
            row[layout.c1_at(d) : layout.c2_at(d)],
            reduction.unpack_symmetric(row[layout.c2_at(d) :], d),
        )

    def _directions(self, u: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, bool]:
        given = checks.numeric(u, "u")
        if given.ndim not in (1, 2) or given.shape[-1] != self.d or given.size == 0:
            raise ValueError(f"u must have shape ({self.d},) or (k, {self.d}), got {given.shape}")
        directions = np.array(given.reshape(-1, self.d), order="C")
        offsets = checks.numeric(b, "b")
        if offsets.shape not in ((), (len(directions),)):
            raise ValueError(
                f"b must be a number or have shape ({len(directions)},), got {offsets.shape}"
            )
        return directions, np.array(np.broadcast_to(offsets, len(directions))), given.ndim == 1


class PackedSample(Sample):
    """A sample in memory, packed into tiles; the compiled loops read these directly.

    The weights in the tiles are those of the rows divided by 2^exponent, and ``total`` is their sum.
    """

    #: Whether the sample has been moved close to 0 already.
    near = False
    #: The tiles serve directions up to this size (|u| at d = 1); beyond it, :meth:`sums` may need more.
    largest_u = math.inf

    def __init__(self, tiles: Tiles, n: int, exponent: int = 0, partial: Floats | None = None):
        """``partial`` are the blocks' sums of moments, where packing has taken them."""
        self.tiles = tiles
        self.n = n
        self.d = tiles.data.shape[1]
        self.exponent = exponent
        self.total, m1, m2 = _moments_of(tiles, partial)
        self._moments = RawMoments(math.ldexp(self.total, exponent), m1, m2)
        self._origin: Floats | None = None

    def moments(self) -> RawMoments:
        return self._moments

    def origin(self) -> Floats:
        """The mean of each coordinate that is more than 1000 standard deviations from 0, else 0."""
        if self._origin is None:
            self._origin = np.zeros(self.d) if self.near else far_origin(self._moments)
            self._origin.flags.writeable = False  # it is handed out
        return self._origin

    def about(self, origin: Floats) -> PackedSample:
        moved = copy.copy(self)
        data = aligned(self.tiles.data.size).reshape(self.tiles.data.shape)
        np.subtract(self.tiles.data, origin[:, None], out=data)
        padding = self.tiles.rows - (len(data) - 1) * self.tiles.data.shape[2]
        data[-1, :, padding:] = 0.0
        PackedSample.__init__(moved, self.tiles._replace(data=data), self.n, self.exponent)
        moved.near = True
        return moved

    def farthest(self, count: int) -> Floats:
        data, weights, rows = self.tiles
        if rows > _LOOKED_THROUGH:
            return super().farthest(count)
        square = np.sum((data - self._moments.m1[:, None]) ** 2, axis=1).reshape(-1)[:rows]
        if weights.size:
            square = np.where(weights.reshape(-1)[:rows] > 0.0, square, -1.0)
        places = np.argsort(-square, kind="stable")[:count]
        tile, row = np.divmod(places, data.shape[2])
        found: Floats = data[tile, :, row]
        return found

    def even_tiles(self) -> Tiles:
        """Tiles with the same sums of even functions of x; fewer of them where possible."""
        return self.tiles

    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        tiles, d = self.even_tiles() if even else self.tiles, self.d
        row = moments.reduce_shape(tiles, self.total, centre, units)
        return Shape(reduction.unpack_symmetric(row[:-d], d), row[-d:])

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        tiles = self.even_tiles() if even else self.tiles
        result: Floats = reduction.reduce_tiles(tiles, self.total, u, b, want)
        return result


def far_origin(moments: RawMoments) -> Floats:
    """The mean of each coordinate that is more than 1000 standard deviations from 0, else 0."""
    _, m1, m2 = moments
    return np.where((m1 / _FAR) ** 2 > m2 - m1**2, m1, 0.0)


def thin_places(count: int, wanted: int) -> NDArray[np.int64] | None:
    """Which of so many tiles to take if a number of them is wanted; None for all.

    They are in the middle of equal parts; the last tile may be padded, and is left out.
    """
    if wanted >= count:
        return None
    return ((np.arange(wanted) + 0.5) * (count - 1) / wanted).astype(np.int64)


def _moments_of(tiles: Tiles, partial: Floats | None) -> RawMoments:
    d = tiles.data.shape[1]
    if partial is None:
        partial = np.empty((tiles.blocks, 1, layout.moments_width(d)))
        ready(packing.moments)(*tiles, partial, packing.room_to_pack(d))
    out = np.empty((1, layout.moments_width(d)))
    ready(reduction.combine)(partial, 1.0, out)
    weight = float(out[0, layout.W])
    m2 = layout.m2_at(d)
    return RawMoments(weight, out[0, layout.M1 : m2] / weight, out[0, m2:] / weight)
