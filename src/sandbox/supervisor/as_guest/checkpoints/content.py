"""Content of files, between the home and the store."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 20
# A file with more room between its data than this is not read where holes cannot be seen.
_MOST_HOLES = 1 << 30


def is_too_sparse(fd: int, status: os.stat_result) -> bool:
    if status.st_size - status.st_blocks * 512 <= _MOST_HOLES:
        return False
    try:
        return os.lseek(fd, 0, os.SEEK_DATA) == 0 and os.lseek(fd, 0, os.SEEK_HOLE) == status.st_size
    except OSError as error:
        # Without any data there is nothing to read.
        return error.errno != errno.ENXIO


def copy(source: int, target: int, size: int) -> None:
    """At most `size` bytes; holes stay holes."""
    for start, end in parts(source, size):
        position = start
        while position < end:
            piece = os.pread(source, min(_CHUNK, end - position), position)
            if not piece:
                break
            _write_at(target, piece, position)
            position += len(piece)
    os.ftruncate(target, size)


def is_same(one: int, other: int, size: int) -> bool:
    position = 0
    for start, end in _merged(parts(one, size), parts(other, size)):
        position = start
        while position < end:
            length = min(_CHUNK, end - position)
            if _read_at(one, length, position) != _read_at(other, length, position):
                return False
            position += length
    return True


def is_as(status: os.stat_result, entry: list[object]) -> bool:
    """Whether an open file is the one that was looked at, and has not changed since then."""
    found = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    return stat.S_ISREG(status.st_mode) and found == entry[2:6]


def parts(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are not holes."""
    position = 0
    while position < size:
        try:
            position = os.lseek(fd, position, os.SEEK_DATA)
            end = min(size, os.lseek(fd, position, os.SEEK_HOLE))
        except OSError as error:
            if error.errno != errno.ENXIO:
                yield position, size
            return
        if position >= size:
            return
        yield position, end
        position = end


def _merged(*lists: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is in any of them, without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(part for each in lists for part in each):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _read_at(fd: int, size: int, position: int) -> bytes:
    data = os.pread(fd, size, position)
    while 0 < len(data) < size:
        more = os.pread(fd, size - len(data), position + len(data))
        if not more:
            break
        data += more
    return data


def _write_at(fd: int, data: bytes, position: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, position)
        view = view[written:]
        position += written
