"""Says how the home differs from a checkpoint, or one checkpoint from another, path by path. Nothing stands still meanwhile, and the store is free for
others: what is removed or written while it is compared is reported as such."""

from __future__ import annotations

import os
import stat

from as_guest.checkpoints.content import is_same, is_too_sparse
from as_guest.checkpoints.entries import CLOSED, DIRECTORY, FILE, LINK, MODE, OBJECT, SIZE, is_untouched
from as_guest.checkpoints.home import Home
from as_guest.checkpoints.store import Store, now
from as_guest.file_content import write_all, write_line
from shared.protocol import to_bytes, to_count, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from as_guest.checkpoints.entries import Entries, Entry
    from shared.shapes import Fields

    Open = Callable[[str, Entry], int]
    Content = Optional[bytes]

# A message has no room for more, and no program can open it by this name. The guest can make it, directory by directory.
_LONGEST = 8192
_KINDS = {FILE: 'file', DIRECTORY: 'directory', LINK: 'link', CLOSED: 'closed'}


def compare(fields: Fields, path: bytes, sink: int) -> Fields:
    """Each difference is a line of JSON, then the content before and after, as long as the line says."""
    with Store(fields['store']) as store:
        before, known = store.at(fields['number'], fields['at']), store.entries
        after = store.at(fields['toNumber'], fields['toAt']) if 'toNumber' in fields else None
    at = fields.get('toAt', now())
    pair = _Pair(store, Home(path), before, after, known, fields['mostBytes'])
    chosen = _chosen(fields.get('paths'))
    for name in sorted(pair.names(), key=os.fsencode):
        if chosen(name):
            pair.report(name, sink)
    return {'at': at, 'closed': pair.closed}


def _chosen(paths: list[str] | None) -> Callable[[str], bool]:
    if paths is None:
        return lambda name: True
    wanted = {os.fsdecode(to_bytes(path)) for path in paths}

    def is_chosen(name: str) -> bool:
        while name not in wanted:
            name, slash, _ = name.rpartition('/')
            if not slash:
                return False
        return True

    return is_chosen


class _Pair:
    def __init__(self, store: Store, home: Home, before: Entries, after: Entries | None, known: Entries, most: int) -> None:
        self._home = home
        self._known = known
        self._before = before
        self._after = home.look() if after is None else after
        self._most = most
        self._open_before: Open = lambda name, entry: store.open_object(entry[OBJECT], entry[SIZE])
        self._open_after: Open = self._open_before if after is not None else self._open_live
        self._is_live = after is None
        self._empty_before, self._empty_after = _emptiness(self._before), _emptiness(self._after)
        self.closed = 0

    def names(self) -> set[str]:
        return self._before.keys() | self._after.keys()

    def report(self, name: str, sink: int) -> None:
        before, after = self._before.get(name), self._after.get(name)
        if CLOSED in (before and before[0], after and after[0]):
            self.closed += 1
            if before is not None and after is not None:
                # What it was, or what it is, is not known.
                return
        problem = ''
        try:
            if self._is_equal(name, before, after):
                return
            if len(name) > _LONGEST:
                self.closed += 1
                return
            contents = self._read(name, before, self._open_before), self._read(name, after, self._open_after)
        except FileNotFoundError:
            problem, contents = 'it was removed while it was compared', (None, None)
        except OSError as error:
            problem, contents = f'its content could not be read: {error.strerror or repr(error)}'[:1000], (None, None)
        line: Fields = {'path': to_text(os.fsencode(name))}
        if before is not None:
            line['before'] = {**_told(before, contents[0]), **self._empty_before(name, before)}
        if after is not None:
            line['after'] = {**_told(after, contents[1]), **self._empty_after(name, after)}
        if problem:
            line['problem'] = problem
        write_line(sink, line)
        for content in contents:
            write_all(sink, content or b'')

    def _is_equal(self, name: str, before: Entry | None, after: Entry | None) -> bool:
        if before is None or after is None:
            return False
        if before[0] != FILE or after[0] != FILE:
            return before == after
        if before[MODE] != after[MODE] or before[SIZE] != after[SIZE]:
            return False
        known = self._known.get(name)
        content = known[OBJECT] if self._is_live and known is not None and is_untouched(after, known) else after[OBJECT]
        if content == before[OBJECT]:
            return True
        fds: list[int] = []
        try:
            fds.append(self._open_before(name, before))
            fds.append(self._open_after(name, after))
            return not is_too_sparse(fds[1], os.fstat(fds[1])) and is_same(fds[0], fds[1], before[SIZE])
        finally:
            for fd in fds:
                os.close(fd)

    def _read(self, name: str, entry: Entry | None, open_file: Open) -> Content:
        """None for what is no file, or a larger one than is asked for."""
        if entry is None or entry[0] != FILE or entry[SIZE] > self._most:
            return None
        fd = open_file(name, entry)
        try:
            parts = []
            # One more shows that it has grown beyond what is asked for.
            left = self._most + 1
            while left > 0:
                part = os.read(fd, min(left, 1 << 20))
                if not part:
                    break
                parts.append(part)
                left -= len(part)
            return b''.join(parts) if left > 0 else None
        finally:
            os.close(fd)

    def _open_live(self, name: str, entry: Entry) -> int:
        fd = self._home.open_file(name)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise FileNotFoundError


def _emptiness(entries: Entries) -> Callable[[str, Entry], Fields]:
    full = {name.rpartition('/')[0] for name in entries}
    return lambda name, entry: {'empty': True} if entry[0] == DIRECTORY and name not in full else {}


def _told(entry: Entry, content: Content) -> Fields:
    told: Fields = {'type': _KINDS.get(entry[0], 'other')}
    if entry[0] in (FILE, DIRECTORY):
        told['mode'] = entry[MODE]
    if entry[0] == FILE:
        told['size'] = to_count(entry[SIZE]) if content is None else len(content)
        if content is not None:
            told['bytes'] = len(content)
    if entry[0] == LINK:
        told['target'] = to_text(os.fsencode(entry[1]))
    return told
