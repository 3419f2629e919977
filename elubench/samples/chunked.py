"""Rows that are not in memory: a sample that is read chunk by chunk.

A chunk is 2^k blocks and begins at a multiple of 2^k, which is a whole subtree of the pairwise order of
:mod:`elubench.kernels.reduction`. So the sum of a chunk, wherever it was computed, is one that a pass
over all rows in memory would have come by, and the sums of all chunks added in the same order are the
result of that pass, to the last bit. The weights of a chunk are divided by a power of two of its own,
which is made up for in its sum.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import layout, moments, packing, reduction
from elubench.kernels._jit import ready
from elubench.kernels.tiles import BLOCK_ROWS, LARGEST, ROWS, Tiles, aligned, empty_tiles
from elubench.samples.array import ArraySample, picks
from elubench.samples.base import RawMoments, Sample, Shape, far_origin, thin_places
from elubench.samples.bins import CHUNK_ROWS, Bins
from elubench.samples.condensed import (
    CONDENSED_FROM,
    DENSE,
    CondensedSample,
    range_of,
    rows_to_look_at,
)

NO_WEIGHT = -2000  # exponent of a chunk in which every weight is 0

#: Told what is being read, how many rows of it are done, and how many there are.
Progress = Callable[[str, int, int], None]


class Chunk(NamedTuple):
    """Packed rows of a sample from number ``first`` on, with weights over 2^exponent."""

    tiles: Tiles
    first: int
    exponent: int = 0


class View(NamedTuple):
    """Which rows of a chunk count, and what is subtracted from them."""

    origin: Floats | None = None
    seed: int = 0
    held: tuple[float, float] = (0.0, 1.0)  # rows whose random number is in [low, high)

    def of(self, chunk: Chunk) -> Chunk:
        """The chunk as this view shows it; the chunk itself stays as it is."""
        tiles = chunk.tiles
        if self.origin is not None:
            data = aligned(tiles.data.size).reshape(tiles.data.shape)
            np.subtract(tiles.data, self.origin[:, None], out=data)
            data[-1, :, tiles.rows - (len(data) - 1) * ROWS :] = 0.0
            tiles = tiles._replace(data=data)
        if self.held != (0.0, 1.0):
            weights = aligned(len(tiles.data) * tiles.data.shape[2])
            weights[:] = 0.0
            for start in range(0, tiles.rows, BLOCK_ROWS):
                block = (chunk.first + start) // BLOCK_ROWS
                drawn = np.random.default_rng([self.seed, block]).random(BLOCK_ROWS)
                chosen = (self.held[0] <= drawn) & (drawn < self.held[1])
                stop = min(start + BLOCK_ROWS, tiles.rows)
                weights[start:stop] = chosen[: stop - start]
            if tiles.weights.size:
                weights *= tiles.weights.reshape(-1)
            tiles = tiles._replace(weights=weights.reshape(len(tiles.data), -1))
        return chunk._replace(tiles=tiles)


#: From a chunk to anything; can be sent to another process.
Job = Callable[[Chunk], Any]


class ChunkedSample(Sample):
    """A sample whose rows are read chunk by chunk, a chunk having ``chunk_rows`` of them.

    A subclass provides ``n``, ``d``, ``weighted``, ``chunk_rows``, :meth:`_each` and :meth:`_pieces`,
    and has as many ``_rows`` as n.
    At d = 1 a fit or a run reads the rows once, and then :attr:`compact`.
    """

    #: Number of rows in the chunks, whether or not they count.
    _rows: int
    weighted: bool
    chunk_rows: int
    #: Whether the sample has been moved close to 0 already.
    near = False
    _view = View()

    @abstractmethod
    def _each(self, job: Job, what: str) -> Iterator[tuple[int, Any]]:
        """The exponent of every chunk and what a job makes of it, in the order of the chunks."""

    @abstractmethod
    def _pieces(self, starts: Any, length: int) -> tuple[Floats, Floats | None]:
        """So many rows from each of these numbers on, one after the other, and their weights.

        Each lies within a chunk.
        """

    def _made(self, job: Job, what: str) -> Iterator[tuple[int, Any]]:
        return self._each(partial(_seen, self._view, job), what)

    @cached_property
    def _first_read(self) -> tuple[int, float, RawMoments, int]:
        """Exponent of the weights, their scaled sum, moments, and rows of positive weight."""
        found = list(self._made(_moments, "moments"))
        exponent = max(exponent for exponent, _ in found)
        parts = [np.ldexp(sums, own - exponent) for own, (sums, _) in found]
        row = combined(parts, 1.0)[0]
        count = sum(count for _, (_, count) in found)
        if count < 2:
            raise ValueError(f"weights must leave at least 2 rows, got {count} that are not zero")
        total, at = float(row[layout.W]), layout.m2_at(self.d)
        m1, m2 = row[layout.M1 : at] / total, row[at:] / total
        if not (np.isfinite(m2).all() and math.isfinite(total)):
            raise ValueError("X must have finite second moments, got values too large to square")
        return exponent, total, RawMoments(math.ldexp(total, exponent), m1, m2), count

    @property
    def n_weighted(self) -> int:
        return self._first_read[3] if self.weighted else self.n

    def moments(self) -> RawMoments:
        return self._first_read[2]

    def origin(self) -> Floats:
        """The mean of each coordinate that is more than 1000 standard deviations from 0, else 0."""
        return np.zeros(self.d) if self.near else far_origin(self.moments())

    def about(self, origin: Floats) -> ChunkedSample:
        """The sample of the rows minus ``origin``, which is subtracted in every read."""
        return self._seen_as(self._view._replace(origin=origin), near=True)

    def split(self, fraction: float = 0.1, seed: int = 0) -> tuple[ChunkedSample, ChunkedSample]:
        """Training and validation samples; each row is held out with this probability.

        So the share of the rows that are held out is about, and not exactly, ``fraction``. What
        happens to a row depends on its number and the seed. Both parts are read with all rows.
        """
        fraction = checks.real(fraction, "fraction", 0.0, 1.0)
        seed = checks.integer(seed, "seed", 0)
        if self._view.held != (0.0, 1.0):
            raise ValueError("the sample must be whole to be split, got a part of one")
        parts = []
        for held in ((fraction, 1.0), (0.0, fraction)):
            part = self._seen_as(self._view._replace(seed=seed, held=held), near=self.near)
            part.weighted = True
            part.n = part.n_weighted
            parts.append(part)
        return parts[0], parts[1]

    def _seen_as(self, view: View, near: bool) -> ChunkedSample:
        other = copy.copy(self)
        for cached in ("_first_read", "compact"):
            vars(other).pop(cached, None)
        other._view, other.near = view, near
        return other

    def thinned(self, rows: int) -> Sample:
        """Whole tiles at equal distances, the same as for rows in memory; itself if no more."""
        size = ROWS
        places = thin_places(-(-self._rows // size), -(-rows // size))
        if places is None or self._view.held != (0.0, 1.0):
            return self
        found, weights = self._pieces(places * size, size)
        if weights is not None and np.count_nonzero(weights) < 2:
            return self
        thin = ArraySample(self._moved(found), weights)
        thin.near = self.near
        return thin

    def picked(self, count: int) -> Floats | None:
        if self.weighted:
            return None
        return self._moved(self._pieces(picks(self._rows, None, count), 1)[0])

    def some_rows(self, most: int) -> ArraySample:
        """About so many of the rows, or all if there are no more, in memory."""
        thin = self.thinned(most)
        if isinstance(thin, ArraySample):
            return thin
        parts = [part for _, part in self._made(_unpacked, "rows")]
        rows = np.concatenate([rows for rows, _ in parts])
        return ArraySample(
            rows, np.concatenate([own for _, own in parts]) if self.weighted else None
        )

    def _moved(self, rows: Floats) -> Floats:
        return rows if self._view.origin is None else rows - self._view.origin

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        return self._sums(partial(_sums, u=u, b=b, want=want), "pass")

    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        row, d = self._sums(partial(_shape, centre=centre, units=units), "moments")[0], self.d
        return Shape(reduction.unpack_symmetric(row[:-d], d), row[-d:])

    def _sums(self, job: Job, what: str) -> Floats:
        exponent, total, _, _ = self._first_read
        parts = [np.ldexp(sums, own - exponent) for own, sums in self._made(job, what)]
        return combined(parts, total)

    @cached_property
    def compact(self) -> Sample:
        """Condensed into weighted points, in one read, if there is one column and it pays."""
        if self.d > 1 or self._rows < CONDENSED_FROM:
            return self
        look = rows_to_look_at(self._rows)
        bounds = range_of(self._moved(self._pieces(look, 1)[0])[:, 0])
        bins = Bins(*bounds)
        for _, part in self._made(partial(_condense, bounds=bounds), "condensing"):
            bins.merge(part)
        points = bins.points()._replace(n=self.n)
        sample = CondensedSample.of(points, lambda: self, self.picked)
        return sample if sample.condensed_to <= DENSE * sample.n else self


def combined(parts: list[Floats], total: float) -> Floats:
    """The sums of all chunks added in the fixed order, over the total weight."""
    partial_sums = np.stack(parts)
    out = np.empty(partial_sums.shape[1:])
    ready(reduction.combine)(partial_sums, total, out)
    return out


def chunk_blocks(d: int, numbers: int) -> int:
    """Blocks in a chunk of at most so many numbers: a power of two, and enough to condense them."""
    blocks = 1
    while 2 * blocks * BLOCK_ROWS * d <= numbers:
        blocks *= 2
    return max(blocks, CHUNK_ROWS // BLOCK_ROWS) if d == 1 else blocks


def pack_chunk(
    rows: Any, weights: Floats | None, first: int, names: list[str], room: Tiles | None = None
) -> Chunk:
    """Rows (m, d) from number ``first`` on as a chunk; ValueError names the first bad number.

    They are float64, contiguous by rows, and can be written to, which is not done.
    """
    m, d = rows.shape
    tiles = empty_tiles(m, d, weights is not None) if room is None else room_for(room, m)
    exponent = 0
    if weights is not None:
        check_weights(weights, first)
        largest = float(weights.max())
        exponent = math.frexp(largest)[1] if largest else NO_WEIGHT
        flat = tiles.weights.reshape(-1)
        flat[:m], flat[m:] = np.ldexp(weights, -exponent), 0.0
    sums = np.empty((tiles.blocks, 1, layout.moments_width(d)))
    arguments = (d, 1, 0, tiles.blocks, tiles.data, tiles.weights, m, sums, packing.room_to_pack(d))
    if ready(packing.pack)(rows.reshape(-1), *arguments) != packing.FINE:
        raise ValueError(f"X must be {_bad_number(rows, first, names)}")
    return Chunk(tiles, first, exponent)


def room_for(room: Tiles, m: int) -> Tiles:
    """Tiles for m rows in the memory of others; rows that pad the last are 0."""
    size = room.data.shape[2]
    count = -(-m // size)
    data, weights = room.data[:count], room.weights[:count]
    data[-1:, :, m - (count - 1) * size :] = 0.0
    return Tiles(data, weights, m)


def check_weights(weights: Floats, first: int) -> None:
    """Raise ValueError for the first weight that is negative or not finite."""
    bad = np.flatnonzero(~((weights >= 0.0) & (weights < np.inf)))
    if bad.size:
        found = weights[bad[0]]
        rule = ">= 0" if found < 0.0 and np.isfinite(found) else "finite"
        shown = "NaN" if np.isnan(found) else f"{found:g}"
        raise ValueError(f"weights must be {rule}, got {shown} in row {first + bad[0] + 1:,}")


def _bad_number(rows: Floats, first: int, names: list[str]) -> str:
    row, column = np.argwhere(~(np.abs(rows) <= LARGEST))[0]
    where = f"in row {first + row + 1:,}, column {names[column]!r}"
    value = rows[row, column]
    if np.isnan(value):
        return f"finite, got NaN {where}"
    if np.isinf(value):
        return f"finite, got infinity or a value too large for float64 {where}"
    return f"at most {LARGEST:g} in size, got a value too large to square {where}"


# Jobs


def _seen(view: View, job: Job, chunk: Chunk) -> Any:
    return job(view.of(chunk))


def _sums(chunk: Chunk, u: Floats, b: Floats, want: int) -> Any:
    return reduction.reduce_tiles(chunk.tiles, 1.0, u, b, want)


def _shape(chunk: Chunk, centre: Floats, units: Floats) -> Any:
    return moments.reduce_shape(chunk.tiles, 1.0, centre, units)[None]


def _moments(chunk: Chunk) -> tuple[Floats, int]:
    """Sums of w, w x and w x^2, and the number of rows of positive weight."""
    tiles = chunk.tiles
    d = tiles.data.shape[1]
    sums = np.empty((tiles.blocks, 1, layout.moments_width(d)))
    ready(packing.moments)(*tiles, sums, packing.room_to_pack(d))
    count = np.count_nonzero(tiles.weights) if tiles.weights.size else tiles.rows
    return combined(list(sums), 1.0), int(count)


def _unpacked(chunk: Chunk) -> tuple[Floats, Floats]:
    (data, weights, n), d = chunk.tiles, chunk.tiles.data.shape[1]
    rows = np.array(data.transpose(0, 2, 1).reshape(-1, d)[:n], order="C")
    return rows, np.ldexp(weights.reshape(-1)[:n], chunk.exponent)


def _condense(chunk: Chunk, bounds: tuple[float, float, float]) -> Bins:
    tiles, bins = chunk.tiles, Bins(*bounds)
    weights = tiles.weights.reshape(-1)[: tiles.rows] if tiles.weights.size else None
    bins.add_scaled(tiles.data.reshape(-1, 1)[: tiles.rows], weights, chunk.exponent)
    return bins
