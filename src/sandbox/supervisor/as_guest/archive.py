"""Directories as tar streams, in both directions. Only regular files and directories travel; what cannot be copied is reported, and the
rest goes on."""

from __future__ import annotations

import os
import stat
import tarfile

from as_guest.file_content import SparseWriter, write_all, write_atomically
from shared.protocol import Refused, to_count, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shared.shapes import Data, Fields

_CHUNK = 65536
_TOLD = 100
_TOLD_BYTES = 8000


class Report:
    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self._failed = 0
        self._told: list[tuple[str, str]] = []
        self._size = 0

    def fail(self, path: bytes, problem: str) -> None:
        self._failed += 1
        told = to_text(path)[:4000]
        if len(self._told) < _TOLD and self._size < _TOLD_BYTES:
            self._size += len(told) + len(problem)
            self._told.append((told, problem[:200]))

    def end(self) -> Fields:
        record: Fields = {'files': self.files, 'bytes': to_count(self.bytes), 'failed': self._failed}
        if self._told:
            record['paths'], record['problems'] = zip(*self._told)
        return record


def pack(root: bytes, sink: int) -> Fields:
    report = Report()
    if not os.path.isdir(root):
        os.stat(root)
        raise Refused('FILE_FAILED', 'is not a directory')
    with tarfile.open(fileobj=_Sink(sink), mode='w|', format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as archive:  # type: ignore[call-overload]
        waiting = [b'']
        while waiting:
            directory = waiting.pop()
            try:
                names = sorted(os.listdir(os.path.join(root, directory)))
            except OSError as error:
                report.fail(directory, error.strerror or repr(error))
                continue
            for name in names:
                relative = os.path.join(directory, name)
                try:
                    if _pack_one(archive, os.path.join(root, relative), relative, report):
                        waiting.append(relative)
                except OSError as error:
                    report.fail(relative, error.strerror or repr(error))
                # It would keep what it knows of all entries, and nothing here asks for that again.
                archive.members = []
    return report.end()


def _pack_one(archive: tarfile.TarFile, path: bytes, relative: bytes, report: Report) -> bool:
    """True for a directory that has to be read too."""
    status = os.lstat(path)
    entry = tarfile.TarInfo(os.fsdecode(relative))
    entry.mode = stat.S_IMODE(status.st_mode) & 0o777
    entry.mtime = int(status.st_mtime)
    if stat.S_ISDIR(status.st_mode):
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
        return True
    if not stat.S_ISREG(status.st_mode):
        report.fail(relative, 'is a link' if stat.S_ISLNK(status.st_mode) else 'is not a regular file')
        return False
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY)
    try:
        entry.size = os.fstat(fd).st_size
        content = _Content(fd, entry.size)
        archive.addfile(entry, content)  # type: ignore[arg-type]
    finally:
        os.close(fd)
    if content.problem:
        report.fail(relative, f'{content.problem}; the rest is zeros')
    else:
        report.files += 1
        report.bytes += entry.size
    return False


class _Content:
    """Exactly as many bytes as were announced, even if the file changes meanwhile, or cannot be read to its end."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._left = size
        self.problem = ''

    def read(self, size: int) -> bytes:
        size = min(size, self._left)
        data = self._read_some(size)
        if len(data) < size:
            data = self._read_on(data, size).ljust(size, b'\0')
        self._left -= len(data)
        return data

    def _read_on(self, data: bytes, size: int) -> bytes:
        parts = [data]
        left = size - len(data)
        while left > 0 and not self.problem:
            parts.append(self._read_some(left))
            left -= len(parts[-1])
        return b''.join(parts)

    def _read_some(self, size: int) -> bytes:
        if size == 0 or self.problem:
            return b''
        try:
            data = os.read(self._fd, size)
        except OSError as error:
            self.problem = f'could not be read to its end ({error.strerror or repr(error)})'
            return b''
        if not data:
            self.problem = 'was cut short while it was read'
        return data


class _Sink:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: Data) -> int:
        write_all(self._fd, data)
        return len(data)


def unpack(root: bytes, source: int) -> Fields:
    report = Report()
    os.makedirs(root, exist_ok=True)
    try:
        with tarfile.open(fileobj=_Source(source), mode='r|', bufsize=_CHUNK) as archive:  # type: ignore[call-overload]
            for entry in archive:
                name = os.fsencode(entry.name)
                try:
                    _unpack_one(archive, entry, root, name, report)
                except OSError as error:
                    report.fail(name, error.strerror or repr(error))
                archive.members = []
    except tarfile.TarError as error:
        raise Refused('FILE_FAILED', f'the archive is damaged: {error}') from error
    return report.end()


def _unpack_one(archive: tarfile.TarFile, entry: tarfile.TarInfo, root: bytes, name: bytes, report: Report) -> None:
    parts = [part for part in name.split(b'/') if part not in (b'', b'.')]
    if name.startswith(b'/') or b'..' in parts:
        report.fail(name, 'leads out of the directory')
        return
    path = os.path.join(root, *parts)
    if entry.isdir():
        os.makedirs(path, exist_ok=True)
        return
    if not entry.isreg():
        report.fail(name, 'is neither a file nor a directory')
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path):
        report.fail(name, 'is a directory in the sandbox')
        return
    content = archive.extractfile(entry)

    def fill(fd: int) -> None:
        sink = SparseWriter(fd, 0)
        while True:
            data = content.read(_CHUNK)  # type: ignore[union-attr]
            if not data:
                break
            sink.write(data)
        os.ftruncate(fd, sink.position)
        os.utime(fd, (entry.mtime, entry.mtime))

    write_atomically(path, entry.mode & 0o777, fill)
    report.files += 1
    report.bytes += entry.size


class _Source:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, size: int) -> bytes:
        return os.read(self._fd, size)
