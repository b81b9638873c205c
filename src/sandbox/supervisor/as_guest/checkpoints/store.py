"""Where checkpoints are kept, on the sandbox's volume. Written as root, so that the guest can neither read nor change it; its directories can be listed,
so that its size counts for the limit.

`latest.json` is the newest checkpoint: what it says of each path. `older/<number>.json` is what each older one says otherwise than its successor.
`objects/<number>/<count>` is the content of one file, first seen by the checkpoint with that number and never changed.
A checkpoint exists from the moment in which `latest.json` is renamed; all that a crash leaves beside it is removed by the next one."""

from __future__ import annotations

import errno
import fcntl
import os
import time

from as_guest.checkpoints.entries import FILE, OBJECT
from as_guest.checkpoints.rights import AsRoot
from shared.lean_json import dumps, loads
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from as_guest.checkpoints.entries import Change, Entries
    from shared.shapes import Fields

_NOTHING: Fields = {'number': 0, 'key': '', 'at': '', 'files': 0, 'bytes': 0, 'changed': 0, 'addedBytes': 0, 'leftOut': 0}
_TOLD = ('number', 'at', 'files', 'bytes', 'changed', 'addedBytes', 'leftOut')


class Store:
    """One at a time has it open, until it is closed or its process ends."""

    def __init__(self, path: str) -> None:
        self.as_root = AsRoot()
        self._path = path
        with self.as_root:
            for directory in (path, f'{path}/objects', f'{path}/older'):
                os.makedirs(directory, 0o755, exist_ok=True)
            self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            latest = self._read('latest.json')
        self.latest: Fields = {**_NOTHING, 'stored': 0} if latest is None else latest['about']
        self.entries: Entries = {} if latest is None else latest['entries']
        self._fresh = 0
        self._stored = self.latest['stored']

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._lock)

    @property
    def stored(self) -> int:
        """Bytes of all content, with what was added and belongs to no checkpoint yet."""
        return int(self._stored)

    def checkpoints(self) -> list[Fields]:
        """The oldest first."""
        with self.as_root:
            older = [self._read(f'older/{number}.json') for number in self._older()]
        found = [each['about'] for each in older if each is not None]
        return [_told(about) for about in (*found, self.latest) if about['number']]

    @property
    def oldest(self) -> int:
        """The number of the oldest checkpoint."""
        with self.as_root:
            return next(iter(self._older()), int(self.latest['number']))

    def at(self, number: int, made: str) -> Entries:
        """What a checkpoint says of each path. `made`: when it was made, since a new volume counts its checkpoints from 1 again."""
        with self.as_root:
            older = self._older()
            about = self.latest if number == self.latest['number'] else (self._read(f'older/{number}.json') or {'about': None})['about']
            if about is None or about['at'] != made or number > self.latest['number']:
                raise Refused('FILE_NOT_FOUND', f'there is no checkpoint {number} of {made}')
            entries = {**self.entries}
            for each in reversed(older):
                if each < number:
                    break
                before: Change = (self._read(f'older/{each}.json') or {})['before']
                entries.update((path, entry) for path, entry in before.items() if entry is not None)
                for path, entry in before.items():
                    if entry is None:
                        entries.pop(path, None)
        return entries

    def open_object(self, name: str, size: int) -> int:
        if name:
            with self.as_root:
                fd = os.open(f'{self._path}/objects/{name}', os.O_RDONLY | os.O_CLOEXEC)
            if os.fstat(fd).st_size == size:
                return fd
            os.close(fd)
        # After a crash of the whole machine, or of a restore.
        raise OSError(errno.EIO, 'its content in the checkpoint is not complete')

    def new_object(self) -> tuple[str, int]:
        """The name and the descriptor of a new content."""
        number = self.latest['number'] + 1
        with self.as_root:
            if self._fresh == 0:
                self._clear(number)
                os.mkdir(f'{self._path}/objects/{number}', 0o755)
            self._fresh += 1
            name = f'{number}/{self._fresh}'
            return name, os.open(f'{self._path}/objects/{name}', os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def close_object(self, fd: int) -> int:
        """Returns what it takes up."""
        added = os.fstat(fd).st_blocks * 512
        os.close(fd)
        self._stored += added
        return added

    def drop_object(self, name: str, fd: int) -> None:
        os.close(fd)
        with self.as_root:
            os.unlink(f'{self._path}/objects/{name}')

    def add(self, about: Fields, entries: Entries, before: Change) -> Fields:
        """Makes a checkpoint of all that was added. `before`: what the newest one so far says otherwise."""
        number = self.latest['number'] + 1
        made = {**_NOTHING, **about, 'number': number, 'at': now(), 'stored': self._stored}
        with self.as_root:
            if self.latest['number']:
                self._write(f'older/{self.latest["number"]}.json', {'about': self.latest, 'before': before})
            self._write('latest.json', {'about': made, 'entries': entries})
        self.latest, self.entries, self._fresh = made, entries, 0
        return _told(made)

    def refresh(self, entries: Entries) -> None:
        """The same checkpoint, with what helps to see changes as it is now."""
        with self.as_root:
            self._write('latest.json', {'about': self.latest, 'entries': entries})
        self.entries = entries

    def undo(self) -> None:
        """Removes what was added and belongs to no checkpoint."""
        with self.as_root:
            # Not what is in memory: this may follow an interruption right after the newest one was made.
            latest = self._read('latest.json')
            self._clear(1 if latest is None else latest['about']['number'] + 1)
        self._fresh = 0
        self._stored = self.latest['stored']

    def keep(self, most: int) -> None:
        """Removes the oldest checkpoints beyond so many. The newest one stays."""
        with self.as_root:
            older = self._older()
            beyond = older[: max(0, len(older) + 1 - most)]
            for number in beyond:
                os.unlink(f'{self._path}/older/{number}.json')
            if beyond:
                self._sweep()

    def told(self) -> Fields:
        return _told(self.latest)

    def content(self) -> dict[int, list[tuple[str, int]]]:
        """The names and sizes of the content that each checkpoint was the first to have."""
        found = {}
        with self.as_root:
            for number in (int(name) for name in os.listdir(f'{self._path}/objects')):
                if number <= self.latest['number']:
                    names = [f'objects/{number}/{name}' for name in os.listdir(f'{self._path}/objects/{number}')]
                    found[number] = [(name, self._size(name)) for name in names]
        return found

    def _size(self, name: str) -> int:
        status = os.stat(f'{self._path}/{name}')
        return min(status.st_size, status.st_blocks * 512)

    def open_stored(self, name: str) -> int:
        with self.as_root:
            return os.open(f'{self._path}/{name}', os.O_RDONLY | os.O_CLOEXEC)

    def open_records(self, since: int) -> list[tuple[str, int]]:
        """All that is not content, as it is now, without what was there when `since` was the newest checkpoint and does not change."""
        names = [f'older/{number}.json' for number in self._older() if number >= since]
        return [(name, self.open_stored(name)) for name in (*names, 'packed.json', 'latest.json')]

    def packed(self) -> set[tuple[int, str]]:
        with self.as_root:
            record = self._read('packed.json')
        return set() if record is None else {(number, at) for number, at in record['checkpoints']}

    def note_packed(self, checkpoints: list[tuple[int, str]]) -> None:
        with self.as_root:
            self._write('packed.json', {'checkpoints': checkpoints})

    def _older(self) -> list[int]:
        numbers = sorted(int(name[:-5]) for name in os.listdir(f'{self._path}/older') if name.endswith('.json'))
        # One that is not older belongs to a checkpoint that was not finished.
        return [number for number in numbers if number < self.latest['number']]

    def _sweep(self) -> None:
        """Removes the content that no checkpoint has any more."""
        used = {entry[OBJECT] for entry in self.entries.values() if entry[0] == FILE}
        for number in self._older():
            before: Change = (self._read(f'older/{number}.json') or {})['before']
            used.update(entry[OBJECT] for entry in before.values() if entry is not None and entry[0] == FILE)
        stored = 0
        for directory in os.listdir(f'{self._path}/objects'):
            names = os.listdir(f'{self._path}/objects/{directory}')
            left = len(names)
            for name in names:
                path = f'{self._path}/objects/{directory}/{name}'
                if f'{directory}/{name}' in used or int(directory) > self.latest['number']:
                    stored += os.stat(path).st_blocks * 512
                else:
                    os.unlink(path)
                    left -= 1
            if left == 0:
                os.rmdir(f'{self._path}/objects/{directory}')
        self._stored = stored
        self.latest['stored'] = stored
        self._write('latest.json', {'about': self.latest, 'entries': self.entries})

    def _clear(self, number: int) -> None:
        """Removes what an unfinished checkpoint has left."""
        for directory in os.listdir(f'{self._path}/objects'):
            if int(directory) >= number:
                for name in os.listdir(f'{self._path}/objects/{directory}'):
                    os.unlink(f'{self._path}/objects/{directory}/{name}')
                os.rmdir(f'{self._path}/objects/{directory}')

    def _read(self, name: str) -> Fields | None:
        try:
            with open(f'{self._path}/{name}', 'rb') as file:
                record: Fields = loads(file.read())
                return record
        except FileNotFoundError:
            return None

    def _write(self, name: str, record: Fields) -> None:
        """Whole or not at all."""
        path = f'{self._path}/{name}'
        fd = os.open(f'{path}.new', os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, 'wb') as file:
            file.write(dumps(record).encode())
        os.rename(f'{path}.new', path)


def _told(about: Fields) -> Fields:
    return {name: about[name] for name in _TOLD}


def now() -> str:
    now = time.time()
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now)) + f'.{int(now * 1000) % 1000:03d}Z'
