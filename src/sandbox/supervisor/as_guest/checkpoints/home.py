"""The home directory, opened as its user and never through a link: each step goes from an open directory to a name in it."""

from __future__ import annotations

import os
import stat

from as_guest.checkpoints.entries import CLOSED, DIRECTORY, LINK, OTHER, file_entry
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from as_guest.checkpoints.entries import Entries, Entry

_DEEPEST = 200
_MOST = 200_000
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


class Home:
    def __init__(self, path: bytes) -> None:
        # The home itself belongs to the supervisor's own tree of directories, so that no guest can replace it.
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._parent = ''
        self._parent_fd = -1
        self.used = 0
        """Bytes that the last look found its files to take up."""

    @property
    def descriptor(self) -> int:
        return self._root

    def look(self) -> Entries:
        """All that is in it, by path. Files have no content yet."""
        self.used = 0
        found: Entries = {}
        self._look(self._root, '', os.fstat(self._root).st_dev, 0, found)
        return found

    def _look(self, directory: int, prefix: str, device: int, depth: int, found: Entries) -> None:
        below = []
        with os.scandir(directory) as names:
            for name in names:
                try:
                    status = name.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                path = prefix + name.name
                self.used += status.st_blocks * 512
                found[path] = entry = self._entry(directory, name.name, status, device)
                if entry[0] == DIRECTORY:
                    below.append((path, name.name))
        if len(found) > _MOST:
            raise Refused('FILE_FAILED', f'the home directory has more than {_MOST} entries; checkpoints are not made of so many')
        for path, single in below:
            try:
                if depth == _DEEPEST:
                    raise PermissionError
                fd = os.open(single, _OPEN_DIRECTORY, dir_fd=directory)
            except FileNotFoundError:
                del found[path]
                continue
            except OSError:
                found[path] = [CLOSED]
                continue
            try:
                self._look(fd, f'{path}/', device, depth + 1, found)
            finally:
                os.close(fd)

    def _entry(self, directory: int, name: str, status: os.stat_result, device: int) -> Entry:
        mode = status.st_mode
        if status.st_dev != device:
            return [CLOSED]
        if stat.S_ISREG(mode):
            return file_entry(status, '')
        if stat.S_ISDIR(mode):
            return [DIRECTORY, stat.S_IMODE(mode)]
        if stat.S_ISLNK(mode):
            try:
                return [LINK, os.readlink(name, dir_fd=directory)]
            except OSError:
                return [CLOSED]
        return [OTHER]

    def place(self, path: str) -> tuple[int, str]:
        """The open directory of a path, and the name in it. The descriptor is valid until the next call."""
        parent, _, name = path.rpartition('/')
        if parent != self._parent or self._parent_fd < 0:
            self.forget_place()
            self._parent_fd = self._open_below(parent)
            self._parent = parent
        return self._parent_fd, name

    def forget_place(self) -> None:
        if self._parent_fd >= 0:
            os.close(self._parent_fd)
        self._parent_fd = -1

    def open_file(self, path: str) -> int:
        directory, name = self.place(path)
        return os.open(name, _OPEN_FILE, dir_fd=directory)

    def _open_below(self, path: str) -> int:
        fd = os.dup(self._root)
        for name in path.split('/') if path else ():
            try:
                below = os.open(name, _OPEN_DIRECTORY, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        return fd
