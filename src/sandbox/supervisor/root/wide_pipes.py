"""Pipes with more room than usual, so that large data takes fewer turns."""

from __future__ import annotations

import fcntl

USUAL = 65536
_WIDE = 262144


def widen(fd: int) -> None:
    """Does nothing where the kernel gives no more room."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE)  # type: ignore[attr-defined]
    except (AttributeError, OSError):  # Python names the command since 3.10
        pass
