"""Makes a checkpoint: only what has changed since the newest one is copied. The guest's processes are stopped meanwhile."""

from __future__ import annotations

import os
import time

from as_guest.checkpoints.content import copy, is_as, is_same, is_too_sparse
from as_guest.checkpoints.entries import CLOSED, FILE, OBJECT, SIZE, differences, file_entry, is_untouched, without_doubt
from as_guest.checkpoints.home import Home
from as_guest.checkpoints.store import Store
from shared.protocol import Refused, to_bytes, to_count, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from as_guest.checkpoints.entries import Entries, Entry
    from shared.shapes import Fields

_ATTEMPTS = 3


def create(fields: Fields, path: bytes) -> Fields:
    """`made` is false when nothing has changed since the newest checkpoint, which is then the one that is returned."""
    with Store(fields['store']) as store:
        return _create(fields, store, path)


def _create(fields: Fields, store: Store, path: bytes) -> Fields:
    # The caller asks again when it did not hear the answer.
    if store.latest['key'] == fields['key']:
        return {'made': True, 'checkpoint': store.told(), 'oldest': store.oldest}
    home = Home(path)
    started = time.time_ns()
    try:
        entries, changed, added = _keep_changes(store, home, fields['diskBytes'])
        before = differences(store.entries, entries)
        stored = {name: without_doubt(entry, started) for name, entry in entries.items()}
        if not before and store.latest['number']:
            store.undo()
            if stored != store.entries:
                store.refresh(stored)
            return {'made': False, 'checkpoint': store.told(), 'oldest': store.oldest}
        made = store.add({**describe(entries), 'key': fields['key'], 'changed': changed or len(before), 'addedBytes': added}, stored, before)
    except BaseException:
        store.undo()
        raise
    store.keep(fields['keep'])
    return {'made': True, 'checkpoint': made, 'oldest': store.oldest}


def describe(entries: Entries) -> Fields:
    files = [entry for entry in entries.values() if entry[0] == FILE]
    closed = sum(entry[0] == CLOSED for entry in entries.values())
    return {'files': len(files), 'bytes': to_count(sum(entry[SIZE] for entry in files)), 'leftOut': closed}


def _keep_changes(store: Store, home: Home, limit: int) -> tuple[Entries, int, int]:
    entries = home.look()
    known = store.entries
    waiting = []
    for path, entry in entries.items():
        if entry[0] == FILE:
            if is_untouched(entry, known.get(path)):
                entry[OBJECT] = known[path][OBJECT]
            else:
                waiting.append(path)
    room = _Room(store, home, limit)
    by_inode: dict[int, Entry] = {}
    added = changed = 0
    for path in waiting:
        found, size = _keep(store, home, path, known.get(path), room, by_inode)
        if found is None:
            del entries[path]
            continue
        entries[path] = found
        added += size
        changed += size > 0
    home.forget_place()
    return entries, changed, added


class _Room:
    """What may be added, so that neither the sandbox's own limit is reached nor the storage filled, which others may share."""

    def __init__(self, store: Store, home: Home, limit: int) -> None:
        self._store = store
        self._home = home
        self._limit = limit

    def take(self, size: int) -> None:
        if self._fits(size):
            return
        # What is older gives way to what is new.
        self._store.keep(1)
        if not self._fits(size):
            raise Refused('FILE_FAILED', 'the files and their checkpoints would take up more than the sandbox has room for; remove some files')

    def _fits(self, size: int) -> bool:
        storage = os.fstatvfs(self._home.descriptor)
        if size > storage.f_bavail * storage.f_frsize // 2:
            return False
        return not self._limit or self._home.used + self._store.stored + size <= self._limit // 10 * 9


def _keep(store: Store, home: Home, path: str, known: Entry | None, room: _Room, by_inode: dict[int, Entry]) -> tuple[Entry | None, int]:
    """The entry of a file with its content, and what that takes up; no entry when the file is gone."""
    for _ in range(_ATTEMPTS):
        try:
            fd = home.open_file(path)
        except FileNotFoundError:
            return None, 0
        except OSError:
            return [CLOSED], 0
        try:
            status = os.fstat(fd)
            entry = file_entry(status, '')
            other = by_inode.get(status.st_ino)
            if other is not None and other[:OBJECT] == entry[:OBJECT]:
                return other, 0
            if is_too_sparse(fd, status):
                return [CLOSED], 0
            entry[OBJECT] = _known_content(store, fd, entry, known)
            size = 0
            if not entry[OBJECT]:
                room.take(min(status.st_size, status.st_blocks * 512))
                entry[OBJECT], size = _copy(store, fd, entry)
            if is_as(os.fstat(fd), entry):
                by_inode[status.st_ino] = entry
                return entry, size
        finally:
            os.close(fd)
    raise Refused('FILE_CHANGED', f'{to_text(to_bytes(path))[:1000]} is written all the time, by something that could not be stopped')


def _known_content(store: Store, fd: int, entry: Entry, known: Entry | None) -> str:
    """The content that is in the store already, when only the times or rights of the file have changed."""
    if known is None or known[0] != FILE or known[SIZE] != entry[SIZE]:
        return ''
    try:
        kept = store.open_object(known[OBJECT], known[SIZE])
    except OSError:
        return ''
    try:
        return str(known[OBJECT]) if is_same(fd, kept, entry[SIZE]) else ''
    finally:
        os.close(kept)


def _copy(store: Store, fd: int, entry: Entry) -> tuple[str, int]:
    name, target = store.new_object()
    try:
        copy(fd, target, entry[SIZE])
    except BaseException:
        store.drop_object(name, target)
        raise
    return name, store.close_object(target)
