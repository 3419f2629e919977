"""Files that are there as a whole or not at all, whenever a process is killed."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

#: What a file is called until it is whole; a process that is killed leaves it behind.
TEMPORARY = ".tmp-"
_WINDOWS, _PAUSES = os.name == "nt", (0.01, 0.05, 0.2, 1.0)


def write_whole(path: Path, content: bytes, keep: bool = False) -> None:
    """Put a whole file in place atomically; with ``keep`` only if there is none."""
    temporary = path.parent / f"{TEMPORARY}{uuid.uuid4().hex}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep:
            try:
                os.link(temporary, path)
            except FileExistsError:
                return
            except OSError:  # a file system without links
                _replace(temporary, path)
        else:
            _replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _flush_folder(path.parent)


def _replace(temporary: Path, path: Path) -> None:
    """Rename over a file that may exist. Windows refuses while somebody reads it: mostly an instant."""
    for pause in _PAUSES if _WINDOWS else ():
        try:
            return os.replace(temporary, path)
        except PermissionError:
            time.sleep(pause)
    os.replace(temporary, path)


def _flush_folder(folder: Path) -> None:
    """Flush the rename itself to disk, where the system allows it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
