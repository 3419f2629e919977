"""Folders that nobody else can write to: what is loaded from them is run as code."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def private_folder(base: Path, *parts: str) -> Path:
    """The folder ``base/part/part``, made where it is missing, with mode 0700 whatever the umask.

    Every folder below ``base`` must be ours, and nobody else may write to it. ``base`` itself may be
    one that everybody writes to, if it is sticky as /tmp is: then nobody can replace what is ours.
    OSError says which folder is refused and why.
    """
    _make(base)
    fault = _fault_of_base(base)
    folder = base
    for part in parts:
        if fault:
            break
        folder = folder / part
        _make(folder)
        fault = fault_of(folder)
    if fault:
        raise PermissionError(fault)
    return folder


def fault_of(folder: Path) -> str:
    """Why a folder is not ours alone, or nothing. Windows gives every user a folder of their own."""
    if os.name != "posix":
        return ""
    link, found = folder.lstat(), folder.stat()
    for owner in (link.st_uid, found.st_uid):
        if owner != os.geteuid():
            return f"{folder} belongs to another user ({owner})"
    if found.st_mode & _OTHERS:
        return f"{folder} can be written by others; chmod go-w it if all in it is yours"
    return ""


def _fault_of_base(base: Path) -> str:
    if os.name != "posix":
        return ""
    found = base.stat()
    if found.st_uid not in (os.geteuid(), 0):
        return f"{base} belongs to another user ({found.st_uid})"
    if found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX:
        return f"{base} can be written by others; chmod go-w it if all in it is yours"
    return ""


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    if not folder.parent.is_dir():
        _make(folder.parent)
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)  # an umask may have taken our own rights away
    except FileExistsError:  # another process was faster, or it is a file
        if not folder.is_dir():
            raise
