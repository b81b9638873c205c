"""Content of files: read and written, whole or in pieces."""

from __future__ import annotations

import errno
import os
import stat
import time

from shared.lean_json import encode
from shared.protocol import Refused, to_bytes, to_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from shared.shapes import Data, Fields

_CHUNK = 262144
_AT_ONCE = 1 << 20
_BLOCK = 4096
_ZEROS = bytes(_BLOCK)
_NOT_REGULAR = 'is not a regular file'
# The descriptor of the lock that all children share.
LOCK = 4


def read_file(fields: Fields, source: int, sink: int) -> Fields:
    # Non-blocking, so that opening a named pipe does not wait for its writer.
    fd = os.open(to_bytes(fields['path']), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise Refused('FILE_FAILED', 'is a directory' if stat.S_ISDIR(status.st_mode) else _NOT_REGULAR)
    if fields['offset']:
        os.lseek(fd, fields['offset'], os.SEEK_SET)
    left = fields['maxBytes']
    while left > 0:
        moved = _move(fd, sink, left)
        if not moved:
            break
        left -= moved
    return _what_was_read(status, os.fstat(fd), fields['offset'] + fields['maxBytes'] - left, left > 0)


def _what_was_read(before: os.stat_result, after: os.stat_result, end: int, ended: bool) -> Fields:
    """A file may be written while it is read. If it only grew, the part that was read is complete; otherwise it has no version, and its reader starts again."""
    is_whole = _version(before) == _version(after) or after.st_size > before.st_size
    return {'size': to_count(end if ended else max(after.st_size, end)), 'version': _version(before) if is_whole else ''}


def write_file(fields: Fields, source: int, sink: int) -> Fields:
    path = _target(fields)
    _check_version(path, fields)
    mode = fields['mode'] if 'mode' in fields else _present_mode(path)

    def fill(fd: int) -> None:
        os.ftruncate(fd, _copy(source, SparseWriter(fd, 0), fields['size']))
        _stamp(fd)

    write_atomically(path, mode, fill, lambda: _check_version(path, fields))
    return {}


def _check_version(path: bytes, fields: Fields) -> None:
    if 'expected' in fields and fields['expected'] != _version_of(path):
        raise Refused('FILE_CHANGED', 'it is not as it was read')


def _stamp(file: int | bytes) -> None:
    """Clocks of file systems advance in steps of milliseconds, and a file and its successor may be equal in everything else that makes up a version."""
    now = time.time_ns()
    os.utime(file, ns=(now, now))


class Alone:
    """While it is held, no other file operation replaces a file. The lock is released when the child that holds it ends."""

    def __enter__(self) -> None:
        os.lockf(LOCK, os.F_LOCK, 0)

    def __exit__(self, *_: object) -> None:
        os.lockf(LOCK, os.F_ULOCK, 0)


def write_part(fields: Fields, source: int, sink: int) -> Fields:
    """One piece of a file that arrives as a stream; the pieces are written to a temporary file in the directory of the target."""
    part = _part_of(_target(fields), fields)
    # Non-blocking, so that opening a named pipe, which the guest may put there, does not wait for its reader.
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if fields['offset'] == 0 else 0)
    fd = _open_part(part, flags)
    end = _copy(source, SparseWriter(fd, fields['offset']), fields['size'])
    # When the piece ends in a hole, its last byte is written, to give the file its length. Not ftruncate: it would cut off data beyond this piece.
    if os.fstat(fd).st_size < end:
        os.pwrite(fd, b'\0', end - 1)
    return {}


def _open_part(part: bytes, flags: int) -> int:
    try:
        fd = os.open(part, flags, 0o600)
    except OSError as error:
        # A named pipe without a reader.
        if error.errno == errno.ENXIO:
            raise Refused('FILE_FAILED', _NOT_REGULAR) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise Refused('FILE_FAILED', _NOT_REGULAR)
    return fd


def commit_parts(fields: Fields, source: int, sink: int) -> Fields:
    path = _target({**fields, 'parents': False})
    part = _part_of(path, fields)
    if os.stat(part).st_size != fields['size']:
        raise Refused(
            'FILE_FAILED',
            f'the pieces of the upload have {os.stat(part).st_size} bytes and not {fields["size"]}; something else wrote to them, so upload it again',
        )
    os.chmod(part, fields['mode'] if 'mode' in fields else _present_mode(path))
    _stamp(part)
    with Alone():
        os.rename(part, path)
    return {}


def drop_parts(fields: Fields, source: int, sink: int) -> Fields:
    try:
        os.unlink(_part_of(os.path.realpath(to_bytes(fields['path'])), fields))
    except FileNotFoundError:
        pass
    return {}


def _present_mode(path: bytes) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o644


def _version(status: os.stat_result) -> str:
    """Two versions are different when the contents may be different."""
    return f'{status.st_dev}-{status.st_ino}-{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}'


def _version_of(path: bytes) -> str:
    """Empty when there is no file."""
    try:
        return _version(os.stat(path))
    except FileNotFoundError:
        return ''


def _target(fields: Fields) -> bytes:
    """The path to write to: a link is followed, as editors do."""
    path = os.path.realpath(to_bytes(fields['path']))
    if os.path.isdir(path):
        raise Refused('FILE_FAILED', 'is a directory')
    if fields['parents']:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _part_of(path: bytes, fields: Fields) -> bytes:
    directory, name = os.path.split(path)
    return os.path.join(directory, b'.%s.%s.part' % (name[:100], fields['uploadId'].encode()))


def write_atomically(path: bytes, mode: int, fill: Callable[[int], object], check: Callable[[], object] = lambda: None) -> None:
    """`fill` is given a descriptor to write to; `check` may refuse until the file is replaced. After a failure no temporary file is left."""
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, b'.%s.%d-%d' % (name[:100], os.getpid(), time.monotonic_ns()))
    fd = -1
    try:
        # A signal may end this process as soon as the file is there.
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        fill(fd)
        os.fchmod(fd, mode)
        with Alone():
            check()
            os.rename(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except FileNotFoundError:
            pass
        raise
    finally:
        if fd >= 0:
            os.close(fd)


class SparseWriter:
    """Writes to a new file and leaves a hole where a whole block is zeros, so that a sparse file stays one. `position` is the end of what was written; where
    that is a hole, the caller has yet to make the file as long."""

    def __init__(self, fd: int, position: int) -> None:
        self._fd = fd
        self.position = position

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        start = at = 0
        while at < len(data):
            # Blocks are those of the file: data comes in pieces of any size. What was not written of one is zeros anyway.
            end = min(len(data), at + _BLOCK - (self.position + at) % _BLOCK)
            if data.startswith(_ZEROS if end - at == _BLOCK else _ZEROS[: end - at], at):
                self._put(view[start:at], start)
                start = end
            at = end
        self._put(view[start:], start)
        self.position += len(data)

    def _put(self, view: memoryview, at: int) -> None:
        at += self.position
        while view:
            written = os.pwrite(self._fd, view, at)
            view = view[written:]
            at += written


def _copy(source: int, sink: SparseWriter, left: int) -> int:
    while left > 0:
        data = os.read(source, min(_CHUNK, left))
        if not data:
            raise Refused('FILE_FAILED', f'the upload ended {left} bytes early; upload it again')
        sink.write(data)
        left -= len(data)
    return sink.position


def _move(source: int, sink: int, most: int) -> int:
    """Some bytes between a file and a pipe, within the kernel where it can; returns how many, 0 at the end."""
    try:
        moved: int = os.splice(source, sink, min(_AT_ONCE, most))  # type: ignore[attr-defined]
        return moved
    except (AttributeError, OSError):  # Python has it since 3.10; what cannot be written fails below as well
        pass
    data = os.read(source, min(_CHUNK, most))
    write_all(sink, data)
    return len(data)


def write_line(sink: int, value: object) -> None:
    write_all(sink, encode(value).encode() + b'\n')


def write_all(fd: int, data: Data) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
