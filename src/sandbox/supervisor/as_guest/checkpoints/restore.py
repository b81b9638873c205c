"""Makes the home as it was at a checkpoint, as its user, who may do so with all that is its own. What cannot be restored is reported, and the rest goes on."""

from __future__ import annotations

import os
import stat
import time

from as_guest.checkpoints.content import copy
from as_guest.checkpoints.create import describe
from as_guest.checkpoints.entries import (
    CLOSED,
    DIRECTORY,
    FILE,
    INODE,
    LINK,
    MODE,
    MODIFIED,
    NAMES,
    OBJECT,
    OTHER,
    SIZE,
    differences,
    says,
    without_doubt,
)
from as_guest.checkpoints.home import Home
from as_guest.checkpoints.store import Store
from shared.protocol import to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from as_guest.checkpoints.entries import Entries, Entry
    from shared.shapes import Fields

_OWN = stat.S_IRWXU
_TOLD = 20
_TOLD_CHARACTERS = 300


def restore(fields: Fields, path: bytes) -> Fields:
    """The result is a checkpoint of its own, so that going on from there copies nothing again and a later restore can take it back."""
    with Store(fields['store']) as store:
        return _restore(fields, store, path)


def _restore(fields: Fields, store: Store, path: bytes) -> Fields:
    if store.latest['key'] == fields['key']:
        return {'checkpoint': store.told(), 'oldest': store.oldest, 'written': 0, 'removed': 0, 'failed': 0}
    wanted = store.at(fields['number'], fields['at'])
    home = Home(path)
    work = _Restore(store, home, wanted)
    work.run()
    started = time.time_ns()
    found = home.look()
    entries = {name: without_doubt(_as_wanted(entry, wanted.get(name)), started) for name, entry in found.items()}
    about = {**describe(entries), 'key': fields['key'], 'changed': work.written + work.removed, 'addedBytes': 0}
    made = store.add(about, entries, differences(store.entries, entries))
    store.keep(fields['keep'])
    return {'checkpoint': made, 'oldest': store.oldest, **work.report()}


def _as_wanted(found: Entry, wanted: Entry | None) -> Entry:
    """A file that could not be restored gets no content: the next checkpoint copies it."""
    if found[0] == FILE and wanted is not None and wanted[0] == FILE and found[SIZE] == wanted[SIZE] and found[MODIFIED] == wanted[MODIFIED]:
        found[OBJECT] = wanted[OBJECT]
    return found


class _Restore:
    def __init__(self, store: Store, home: Home, wanted: Entries) -> None:
        self._store = store
        self._home = home
        self._wanted = wanted
        self._present: Entries = {}
        self._opened: dict[str, int] = {}
        """Directories whose rights were widened for the restore, with the rights that they had."""
        self._first: dict[int, str] = {}
        self._temporary = 0
        self._problems: list[tuple[str, str]] = []
        self._failed = 0
        self.written = 0
        self.removed = 0

    def run(self) -> None:
        self._present = self._home.look()
        for path in sorted(self._present, reverse=True):
            if self._is_superfluous(path):
                self._attempt(path, self._remove)
        for path in sorted(self._wanted):
            self._attempt(path, self._make)
        modes = {**self._opened, **{path: entry[MODE] for path, entry in self._wanted.items() if entry[0] == DIRECTORY}}
        for path in sorted(modes, reverse=True):
            self._attempt(path, lambda path: self._set_mode(path, modes[path]))
        self._home.forget_place()

    def report(self) -> Fields:
        record: Fields = {'written': self.written, 'removed': self.removed, 'failed': self._failed}
        if self._problems:
            record['paths'], record['problems'] = zip(*self._problems)
        return record

    def _attempt(self, path: str, act: Callable[[str], object]) -> None:
        """Once more after the user has given itself the rights to the directory, which it may since it owns that."""
        try:
            try:
                act(path)
            except PermissionError:
                self._open_up(path.rpartition('/')[0])
                act(path)
        except OSError as error:
            self._failed += 1
            if len(self._problems) < _TOLD:
                self._problems.append((to_text(to_bytes(path))[:_TOLD_CHARACTERS], error.strerror or repr(error)))

    def _open_up(self, directory: str) -> None:
        if not directory:
            raise PermissionError(13, 'the home directory cannot be written')
        place, name = self._home.place(directory)
        mode = stat.S_IMODE(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)
        # As its owner; a link has been ruled out, and the guest's processes are stopped.
        os.chmod(name, mode | _OWN, dir_fd=place)
        self._opened.setdefault(directory, mode)
        self._home.forget_place()

    def _is_superfluous(self, path: str) -> bool:
        """What is not to be there, or is something else there."""
        wanted, present = self._wanted.get(path), self._present[path]
        if present[0] == CLOSED or (wanted is not None and wanted[0] == CLOSED):
            return False
        return wanted is None or wanted[0] != present[0]

    def _remove(self, path: str) -> None:
        place, name = self._home.place(path)
        if self._present[path][0] == DIRECTORY:
            os.rmdir(name, dir_fd=place)
        else:
            os.unlink(name, dir_fd=place)
        del self._present[path]
        self.removed += 1

    def _make(self, path: str) -> None:
        wanted, present = self._wanted[path], self._present.get(path)
        kind = wanted[0]
        if kind == DIRECTORY and present is None:
            place, name = self._home.place(path)
            os.mkdir(name, 0o700, dir_fd=place)
            self.written += 1
        elif kind == LINK and says(present) != says(wanted):
            self._replace(path, lambda place, name: os.symlink(wanted[1], name, dir_fd=place))
        elif kind == FILE and (present is None or present[0] == FILE):
            self._make_file(path, wanted, present)
        elif kind in (OTHER, CLOSED) and present is None:
            raise FileNotFoundError(2, 'it was no file, or could not be read, when the checkpoint was made')

    def _make_file(self, path: str, wanted: Entry, present: Entry | None) -> None:
        first = self._first.setdefault(wanted[INODE], path) if wanted[NAMES] > 1 else path
        if first != path:
            self._link(path, first)
            return
        if present is not None and self._is_unchanged(path, wanted, present):
            if says(present)[1:4] == says(wanted)[1:4]:  # type: ignore[index]
                return
            place, name = self._home.place(path)
            os.chmod(name, wanted[MODE], dir_fd=place)
            os.utime(name, ns=(wanted[MODIFIED], wanted[MODIFIED]), dir_fd=place, follow_symlinks=False)
            self.written += 1
            return
        self._replace(path, lambda place, name: self._write(place, name, wanted))

    def _is_unchanged(self, path: str, wanted: Entry, present: Entry) -> bool:
        """Whether it still has the wanted content, in an inode that it shares with no other name than it did."""
        known = self._store.entries.get(path)
        if known is None or known[0] != FILE or known[OBJECT] != wanted[OBJECT] or present[NAMES] != wanted[NAMES]:
            return False
        return known[:OBJECT] == present[:OBJECT]

    def _link(self, path: str, first: str) -> None:
        """Another name of a file that is there by now."""
        place, name = self._home.place(first)
        fd = os.dup(place)
        try:
            inode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_ino
            own = self._present.get(path)
            if own is not None and own[0] == FILE and own[INODE] == inode:
                return
            self._replace(path, lambda target, temporary: os.link(name, temporary, src_dir_fd=fd, dst_dir_fd=target, follow_symlinks=False))
        finally:
            os.close(fd)

    def _replace(self, path: str, make: Callable[[int, str], object]) -> None:
        """The name has the old or the new file at every moment; programs that have the old one open keep it."""
        place, name = self._home.place(path)
        self._temporary += 1
        temporary = f'.longshore-restored-{os.getpid()}-{self._temporary}'
        try:
            make(place, temporary)
            os.rename(temporary, name, src_dir_fd=place, dst_dir_fd=place)
        except BaseException:
            try:
                os.unlink(temporary, dir_fd=place)
            except OSError:
                pass
            raise
        self.written += 1

    def _write(self, place: int, name: str, wanted: Entry) -> None:
        source = self._store.open_object(wanted[OBJECT], wanted[SIZE])
        try:
            target = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=place)
            try:
                copy(source, target, wanted[SIZE])
                os.fchmod(target, wanted[MODE])
                os.utime(target, ns=(wanted[MODIFIED], wanted[MODIFIED]))
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _set_mode(self, path: str, mode: int) -> None:
        place, name = self._home.place(path)
        try:
            status = os.stat(name, dir_fd=place, follow_symlinks=False)
        except FileNotFoundError:
            # Its rights were widened to remove it.
            return
        if stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) != mode:
            os.chmod(name, mode, dir_fd=place)
