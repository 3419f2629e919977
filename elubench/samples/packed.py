"""A packed file: tiles as the pass reads them, converted once from a table that is slow to read.

    tiles      (tile, width, rows) of float64; width is d, and one more for a column of weights
    footer     JSON: number of rows, names, weights or not, and what the source was like
    its length (8 bytes) and ``MAGIC``

The file gets its name when it is complete. Until then it is NAME.part, and NAME.part.json says how many
rows are safe on disk and where in the source the next ones begin; another process goes on from there.
One process at a time converts: whoever finds the part locked waits for the other to finish.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.kernels.tiles import ROWS, Tiles, empty_tiles
from elubench.samples.chunked import Chunk, check_weights, pack_chunk, room_for
from elubench.samples.stored import UnchangedFile

MAGIC = b"ELUPACK2"
_LAYOUT = MAGIC.decode()  # a part in another layout cannot be continued
_LOCKS = os.name == "posix"
_SAFE_SECONDS = 10.0  # of work that a process that is killed may lose

#: Where the next rows begin in the source; JSON.
Position = list[int]


class PackedRows:
    """The rows of a packed file."""

    def __init__(self, path: Path):
        self.file = UnchangedFile(path)
        about = footer(path)
        self.n, self.names, self.weighted = about["n"], about["names"], about["weighted"]
        self._d = len(self.names)
        self._width, self._size = self._d + self.weighted, ROWS

    def room(self, rows: int) -> Tiles:
        return empty_tiles(rows, self._d, self.weighted)

    def load(self, first: int, stop: int, room: Tiles) -> Chunk:
        tiles = room_for(room, stop - first)
        if not self.weighted:
            self.file.read_into(tiles.data, self._at(first))
            return Chunk(tiles, first)
        return pack_chunk(*self.rows(first, stop), first, self.names, room)

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats | None]:
        begin = start // self._size
        raw = np.empty((-(-stop // self._size) - begin, self._width, self._size))
        self.file.read_into(raw, self._at(begin * self._size))
        flat = raw.transpose(0, 2, 1).reshape(-1, self._width)
        flat = flat[start - begin * self._size : stop - begin * self._size]
        weights = flat[:, -1].copy() if self.weighted else None
        return np.ascontiguousarray(flat[:, : self._d]), weights

    def _at(self, row: int) -> int:
        return row // self._size * self._width * self._size * 8


def footer(path: Path) -> dict[str, Any]:
    """What a packed file says of itself; ValueError for another file, and for one that is damaged."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        tail = struct.calcsize("<Q") + len(MAGIC)
        file.seek(max(size - tail, 0))
        end = file.read()
        if size < tail or not end.endswith(MAGIC):
            raise ValueError(f"{path}: not a packed file of elubench, or one that was cut off")
        (length,) = struct.unpack("<Q", end[: -len(MAGIC)])
        tiles = size - tail - length
        file.seek(max(tiles, 0))
        content = file.read()[:-tail]
    try:
        found = dict(json.loads(content))
        n, names, weighted = found["n"], found["names"], found["weighted"]
        width, rows = len(names) + weighted, ROWS
        whole = tiles == -(-n // rows) * rows * width * 8
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"{path}: the packed file is damaged; remove it")
    return found


def pack_file(
    target: Path,
    source: dict[str, Any],
    names: Sequence[str],
    weighted: bool,
    pieces: Callable[[Position | None], Iterable[tuple[Floats, Position | None, float]]],
    report: Callable[[int, float], None],
) -> None:
    """Write a packed file of what ``pieces`` yields, from a position on.

    That is rows, weights being their last column; the position after them, or None where nobody can
    begin; and the share of the source that is read. ``source`` is whatever must be equal for the file,
    or a part of it, to be used again. ``report`` is told the rows done, and the share.
    """
    with _part(target) as part:
        if _is_of(target, source):
            return
        state_path = part.with_name(part.name + ".json")
        writer = _Writer(part, weighted, names)
        laid_out = {**source, "layout": _LAYOUT}
        state = _state(state_path, laid_out)
        if state is not None and writer.resume(state["rows"]):
            begin: Position | None = state["position"]
        else:
            writer.file.seek(0)
            writer.file.truncate()
            begin = None
        saved = time.monotonic()
        with writer.file:
            for rows, position, share in pieces(begin):
                writer.add(rows)
                report(writer.n, share)
                if position is not None and time.monotonic() - saved > _SAFE_SECONDS:
                    writer.flush()
                    state = {"source": laid_out, "rows": writer.n, "position": position}
                    _replace(state_path, json.dumps(state).encode())
                    saved = time.monotonic()
            if writer.n < 2:
                raise ValueError(f"X must have at least 2 rows, got {writer.n}")
            about = {"n": writer.n, "names": list(names), "weighted": weighted}
            content = json.dumps({**about, "source": source}).encode()
            writer.file.seek(writer.flush())
            writer.file.write(content + struct.pack("<Q", len(content)) + MAGIC)
            writer.file.flush()
            os.fsync(writer.file.fileno())
        os.replace(part, target)
        state_path.unlink(missing_ok=True)


class _Writer:
    """Tiles at the end of a file; the last may be incomplete, and is written again."""

    def __init__(self, path: Path, weighted: bool, names: Sequence[str]):
        self.file = open(path, "r+b")  # noqa: SIM115  the caller closes it
        self._d, self._weighted, self._names = len(names), weighted, list(names)
        self._width, self._size = self._d + weighted, ROWS
        self._rest = np.empty((0, self._width))  # rows of the incomplete tile
        self.n = 0

    @property
    def _tile_bytes(self) -> int:
        return self._width * self._size * 8

    def resume(self, rows: int) -> bool:
        """Go on after so many rows; False if they are not there."""
        whole, rest = divmod(rows, self._size)
        if self.file.seek(0, os.SEEK_END) < (whole + (rest > 0)) * self._tile_bytes:
            return False
        self.file.seek(whole * self._tile_bytes)
        if rest:
            tile = np.frombuffer(self.file.read(self._tile_bytes)).reshape(self._width, self._size)
            self._rest = np.ascontiguousarray(tile[:, :rest].T)
        self.file.seek(whole * self._tile_bytes)
        self.n = rows
        return True

    def add(self, rows: Floats) -> None:
        """Judge rows, weights being their last column, and write all whole tiles."""
        numbers = np.ascontiguousarray(rows[:, : self._d])
        if len(rows):
            pack_chunk(numbers, None, self.n, self._names)
        if self._weighted:
            check_weights(rows[:, self._d], self.n)
        self.n += len(rows)
        rows = np.concatenate([self._rest, rows]) if len(self._rest) else rows
        whole = len(rows) // self._size
        tiles = rows[: whole * self._size].reshape(whole, self._size, self._width)
        self.file.write(np.ascontiguousarray(tiles.transpose(0, 2, 1)).data)
        self._rest = rows[whole * self._size :].copy()

    def flush(self) -> int:
        """Have all rows on disk, the rest in a padded tile; where the file ends then."""
        at = self.file.tell()
        end = at
        if len(self._rest):
            tile = np.zeros((self._width, self._size))
            tile[:, : len(self._rest)] = self._rest.T
            end += self.file.write(tile.tobytes())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.seek(at)
        return end


def _is_of(path: Path, source: dict[str, Any]) -> bool:
    """Whether there is a packed file, and it is of this source."""
    try:
        return bool(footer(path)["source"] == source)
    except (FileNotFoundError, ValueError, KeyError):
        return False


def _state(path: Path, source: dict[str, Any]) -> dict[str, Any] | None:
    try:
        state = json.loads(path.read_bytes())
        return dict(state) if state["source"] == source else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


@contextmanager
def _part(target: Path) -> Iterator[Path]:
    """The unfinished file, locked, where the system has locks."""
    part = target.with_name(target.name + ".part")
    with _locked(part):
        try:
            yield part
        except ValueError:  # what the source holds cannot be used
            part.unlink(missing_ok=True)
            part.with_name(part.name + ".json").unlink(missing_ok=True)
            raise
        finally:
            if part.exists() and not part.stat().st_size:
                part.unlink()


@contextmanager
def _locked(part: Path) -> Iterator[None]:
    """A file that exists, and that no other process has; without locks only the former.

    Windows renames no file that is open, so there it must not stay so.
    """
    while True:
        with open(part, "ab") as file:
            if not _LOCKS:
                break
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            try:  # the other may have finished, and the name be free again
                same = os.path.samestat(os.fstat(file.fileno()), os.stat(part))
            except FileNotFoundError:
                same = False
            if same:
                yield
                return
    yield
