"""Reports changes below a directory, by inotify. Runs until it is ended."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from shared.shapes import Fields

    _Tell = Callable[[str, bytes], object]
    _Change = tuple[str, bytes]

_libc = ctypes.CDLL(None, use_errno=True)
_EVENT = struct.Struct('iIII')
_CLOSE_WRITE, _ATTRIB, _MODIFY = 0x8, 0x4, 0x2
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400
_OVERFLOW, _IGNORED, _IS_DIRECTORY = 0x4000, 0x8000, 0x40000000
_DO_NOT_FOLLOW = 0x02000000
_WANTED = _CLOSE_WRITE | _ATTRIB | _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF
_GONE = _MOVED_FROM | _DELETE
_NEW = _MOVED_TO | _CREATE
# This process has few descriptors, so it is the limit of the user.
_IN_USE = 'its user has as many watches as the kernel permits it (fs.inotify.max_user_instances); sandboxes of one host share that, except those of gVisor'


def watch(root: bytes, recursive: bool, tell: _Tell) -> Fields:
    """`tell` is called with a kind and a path. Ends when what is watched is removed."""
    watcher = _Watcher(os.path.abspath(root), recursive, tell)
    tell('ready', watcher.root)
    while watcher.step():
        pass
    tell('removed', watcher.root)
    return {}


class _Watcher:
    def __init__(self, root: bytes, recursive: bool, tell: _Tell) -> None:
        self.root = root
        self._recursive = recursive
        self._tell = tell
        self._paths: dict[int, bytes] = {}
        self._fd = _libc.inotify_init1(os.O_CLOEXEC)
        if self._fd < 0:
            number = ctypes.get_errno()
            raise Refused('FILE_FAILED', f'cannot be watched: {_IN_USE if number == errno.EMFILE else os.strerror(number)}')
        self._is_file = not stat.S_ISDIR(os.stat(root).st_mode)
        self._root_number = self._add(root, 0)
        if self._root_number < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        if recursive and not self._is_file:
            self._add_below(root, False)

    def step(self) -> bool:
        data = os.read(self._fd, 65536)
        position = 0
        last: _Change | None = None
        while position < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            name = data[position : position + length].rstrip(b'\0')
            position += length
            if mask & _OVERFLOW:
                self._tell('overflow', self.root)
                last = None
                continue
            if number == self._root_number and mask & (_DELETE_SELF | _IGNORED):
                return False
            last = self._handle(number, mask, name, last)
        return True

    def _handle(self, number: int, mask: int, name: bytes, last: _Change | None) -> _Change | None:
        directory = self._paths.get(number)
        if mask & _IGNORED:
            self._paths.pop(number, None)
            return last
        if directory is None or mask & _DELETE_SELF:
            return last
        path = os.path.join(directory, name) if name else directory
        if not name and not self._is_file:
            return last
        kind = 'removed' if mask & _GONE else 'created' if mask & _NEW else 'changed'
        # A writer causes many equal events; one is enough.
        if kind != 'changed' or last != (kind, path):
            self._tell(kind, path)
        if kind == 'created' and mask & _IS_DIRECTORY and self._recursive and self._add(path, _DO_NOT_FOLLOW) >= 0:
            # Entries that were created before the directory was watched.
            self._add_below(path, True)
        return kind, path

    def _add(self, path: bytes, flags: int) -> int:
        number: int = _libc.inotify_add_watch(self._fd, ctypes.c_char_p(path), ctypes.c_uint32(_WANTED | flags))
        if number >= 0:
            self._paths[number] = path
        return number

    def _add_below(self, root: bytes, told: bool) -> None:
        waiting = [root]
        while waiting:
            directory = waiting.pop()
            try:
                entries = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(directory)]
            except OSError:
                continue
            for path, is_directory in entries:
                if told:
                    self._tell('created', path)
                if is_directory:
                    if self._add(path, _DO_NOT_FOLLOW) < 0:
                        # The kernel's limit of watches is reached: changes may be missed from now on.
                        self._tell('overflow', path)
                        continue
                    waiting.append(path)
