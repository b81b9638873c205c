"""What is kept of each exec, on the volume, so that it outlives the container: readable for the guest, writable for root alone."""

from __future__ import annotations

import os
import time

from shared.lean_json import encode, loads
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shared.shapes import Fields

_STREAMS = ('stdout', 'stderr')
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
_EXIT_SIZE = 512


class Claim:
    """An id that was claimed, for an exec that is about to begin."""

    def __init__(self, directory: str, files: Files | None) -> None:
        self._directory = directory
        self._files = files

    def keep(self, spec: Fields) -> tuple[list[int], int]:
        """Writes the spec, unless the volume is full; returns the two outputs, open for reading and appending, and the file for the exit (-1 when the volume
        had no room for it). Raises `OSError` when there is no room for outputs."""
        files = self._files or Files(self._directory)
        try:
            files.write_spec(spec)
        except OSError:
            # Its end has room, and counts without the spec.
            pass
        return files.outputs, files.exit

    def close(self) -> None:
        """For an exec that could not begin."""
        if self._files is not None:
            self._files.close()


class Files:
    """The files of one exec, new and open."""

    def __init__(self, directory: str) -> None:
        self.outputs: list[int] = []
        self.exit = self._spec = -1
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self.outputs.extend(os.open(f'{directory}/{name}', flags, 0o644) for name in _STREAMS)
        except OSError:
            self.close()
            raise
        try:
            self._spec = os.open(f'{directory}/spec.json', _WRITE, 0o600)
            self.exit = _create_exit(directory)
        except OSError:
            # Its end is kept in memory until there is room.
            pass

    def write_spec(self, spec: Fields) -> None:
        fd, self._spec = self._spec, -1
        if fd >= 0:
            _write_and_close(fd, encode(spec).encode())

    def close(self) -> None:
        for fd in (*self.outputs, self._spec, self.exit):
            if fd >= 0:
                os.close(fd)


class Journal:
    """One directory per exec: `spec.json` (root only), `stdout`, `stderr`, and `exit.json`, blank until the end."""

    def __init__(self, root: str) -> None:
        self.root = root
        os.makedirs(root, mode=0o755, exist_ok=True)
        # Not in it: an earlier supervisor that comes back would take it for an exec.
        self._spare_directory = f'{root}.spare'
        self._spare: Files | None = None
        self._life = f'{root}.life'
        self._last_life = self._read_life()
        self._new_life: str | None = timestamp()
        self._begin_as_copy(f'{root}.copied')

    def path(self, exec_id: str, name: str) -> str:
        return f'{self.root}/{exec_id}/{name}'

    def prepare(self) -> None:
        """Makes the directory of the next exec ahead of it: to make files takes longer than many an exec."""
        if self._spare is not None:
            return
        try:
            self._make_spare()
            files = Files(self._spare_directory)
        except OSError:
            # The volume is full. The next exec tries it for itself.
            return
        if files.exit < 0:
            files.close()
        else:
            self._spare = files

    def claim(self, exec_id: str) -> Claim | None:
        """Claims the id; None when it was claimed before."""
        directory = f'{self.root}/{exec_id}'
        # A rename would replace an empty directory. No other process makes one here.
        if self.exists(exec_id):
            return None
        files = self._move_spare(directory)
        if files is None:
            try:
                os.mkdir(directory, 0o755)
            except OSError as error:
                raise Refused('EXEC_FAILED', f'the journal cannot be written: {error.strerror}') from error
        return Claim(directory, files)

    def begin_life(self) -> None:
        """Notes at its first exec when this supervisor began; a supervisor without an exec has lost none, and the one before it still counts as the last."""
        if self._new_life is None:
            return
        try:
            _write_and_close(os.open(self._life, _WRITE | os.O_TRUNC, 0o600), self._new_life.encode())
        except OSError:
            # The volume is full; the next exec tries again.
            return
        self._new_life = None

    def is_past(self, spec: Fields | None) -> bool:
        """Whether a lost exec was lost already when the last supervisor but this one began."""
        return spec is not None and spec['startedAt'] < self._last_life

    def create_exit(self, exec_id: str) -> int:
        return _create_exit(f'{self.root}/{exec_id}')

    def write_exit(self, fd: int, record: Fields) -> bool:
        """One write, so the record appears whole or not at all. False when it could not be written."""
        if fd < 0:
            return False
        data = encode(record).encode().ljust(_EXIT_SIZE)
        try:
            return os.pwrite(fd, data, 0) == len(data)
        except OSError:
            return False
        finally:
            os.close(fd)

    def open_outputs(self, exec_id: str) -> list[int]:
        """The same for reading; -1 for a file that was never created."""
        return [self._open(exec_id, name) for name in _STREAMS]

    def read_spec(self, exec_id: str) -> Fields | None:
        """None when it was never written: its supervisor died in the middle of the start."""
        return self._read(exec_id, 'spec.json')

    def read_exit(self, exec_id: str) -> Fields | None:
        """None when no end was recorded: the blank that was left for it is not JSON."""
        return self._read(exec_id, 'exit.json')

    def exists(self, exec_id: str) -> bool:
        return os.path.isdir(f'{self.root}/{exec_id}')

    def ids(self) -> list[str]:
        return sorted(os.listdir(self.root))

    def remove(self, exec_id: str) -> None:
        _remove(f'{self.root}/{exec_id}')

    def sizes(self, exec_id: str) -> list[int]:
        sizes = []
        for name in _STREAMS:
            try:
                sizes.append(os.stat(self.path(exec_id, name)).st_size)
            except OSError:
                sizes.append(0)
        return sizes

    def _make_spare(self) -> None:
        try:
            os.mkdir(self._spare_directory, 0o755)
        except FileExistsError:
            # An earlier supervisor has made it.
            _remove(self._spare_directory)
            os.mkdir(self._spare_directory, 0o755)

    def _move_spare(self, directory: str) -> Files | None:
        files, self._spare = self._spare, None
        if files is None:
            return None
        try:
            os.rename(self._spare_directory, directory)
        except OSError:
            # The journal may be a mount of its own.
            files.close()
            return None
        return files

    def _begin_as_copy(self, mark: str) -> None:
        """The volume is a copy of another sandbox's, which is marked: what ran there did not end with a container of this one."""
        if not os.path.exists(mark):
            return
        self._last_life = self._new_life or ''
        self.begin_life()
        if self._new_life is None:
            os.unlink(mark)

    def _read_life(self) -> str:
        try:
            with open(self._life, encoding='ascii') as file:
                return file.read()
        except OSError:
            return ''

    def _open(self, exec_id: str, name: str) -> int:
        try:
            return os.open(self.path(exec_id, name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return -1

    def _read(self, exec_id: str, name: str) -> Fields | None:
        try:
            with open(self.path(exec_id, name), 'rb') as file:
                record: Fields = loads(file.read())
                return record
        except (FileNotFoundError, ValueError):
            return None


def _create_exit(directory: str) -> int:
    """Space for the record is reserved now: its command may fill the volume."""
    fd = os.open(f'{directory}/exit.json', _WRITE, 0o644)
    try:
        os.write(fd, b' ' * _EXIT_SIZE)
    except OSError:
        # It is tried again at every start of a command while the volume is full.
        os.close(fd)
        raise
    return fd


def _remove(directory: str) -> None:
    """`exit.json` is removed last, so that an interrupted removal never looks like a lost exec."""
    for name in ('stdout', 'stderr', 'spec.json', 'exit.json'):
        try:
            os.unlink(f'{directory}/{name}')
        except FileNotFoundError:
            pass
    try:
        os.rmdir(directory)
    except FileNotFoundError:
        pass


def _write_and_close(fd: int, data: bytes) -> None:
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def timestamp() -> str:
    """The time now as ISO 8601 in UTC, to the millisecond."""
    now = time.time()
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now)) + f'.{int(now * 1000) % 1000:03d}Z'


def preview(fd: int, kept: int, total: int, limit: int, path: str) -> Fields:
    """Head and tail of an output, each at most half of `limit` bytes, cut between characters."""
    if kept <= limit:
        return {'head': _decode(_pread(fd, kept, 0)), 'tail': '', 'leftOut': total - kept, 'path': path}
    half = limit // 2
    head = _pread(fd, half, 0)
    tail = _pread(fd, half, kept - half)
    head = head[: _complete(head)]
    start = 0
    while start < min(3, len(tail)) and tail[start] & 0xC0 == 0x80:
        start += 1
    tail = tail[start:]
    return {'head': _decode(head), 'tail': _decode(tail), 'leftOut': total - len(head) - len(tail), 'path': path}


def _pread(fd: int, size: int, offset: int) -> bytes:
    return os.pread(fd, size, offset) if fd >= 0 and size > 0 else b''


def _decode(data: bytes) -> str:
    return data.decode('utf-8', 'replace').replace('\0', '\ufffd')


def _complete(data: bytes) -> int:
    """Length of `data` without a character that was cut at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)
