"""Sends the store for a backup: all that belongs to its checkpoints and that earlier streams do not have. A stream is lines of JSON, some with bytes
behind them: what the newest checkpoint is; then each file, its name and size followed by its parts; then an end.

Files of the store never change. So the store is free for others while they are read; one that has been removed meanwhile ends the stream with an error.
Which objects an earlier stream had follows from its number: all of the checkpoints up to that. `packed.json` says of which checkpoints there was a
stream, and goes with each copy of the store: a copy that went on in another way does not have the later ones."""

from __future__ import annotations

import os
import stat

from as_guest.checkpoints.content import parts
from as_guest.checkpoints.home import Home
from as_guest.checkpoints.store import Store
from as_guest.file_content import write_all, write_line
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shared.shapes import Fields

    # The number of a checkpoint, how much content its stream had, and when the checkpoint was made.
    Known = list[tuple[int, int, str]]

_CHUNK = 1 << 17
# Streams with less content are sent again with the next one, so that there are few.
_SMALL = 1 << 18


def pack(fields: Fields, path: bytes, sink: int) -> Fields:
    with Store(fields['store']) as store:
        latest = store.told()
        if (latest['number'], latest['at']) != (fields['number'], fields['at']):
            raise Refused('FILE_CHANGED', 'there is a newer checkpoint')
        known = _still_known(store, _parsed(fields.get('known', [])))
        content = store.content()
        sizes = {number: sum(size for _, size in each) for number, each in content.items()}
        since = _begin_after(known, sizes)
        store.note_packed([(number, at) for number, _, at in known if number <= since] + [(latest['number'], latest['at'])])
        files = store.open_records(since)
        oldest = store.oldest
    write_line(sink, {'number': latest['number'], 'at': latest['at'], 'oldest': oldest, 'home': stat.S_IMODE(os.fstat(Home(path).descriptor).st_mode)})
    for name in (name for number in sorted(content) if number > since for name, _ in content[number]):
        try:
            fd = store.open_stored(name)
        except FileNotFoundError as error:
            raise Refused('FILE_CHANGED', 'newer checkpoints have taken its place meanwhile') from error
        _send(name, fd, sink)
    # What names the objects comes after them.
    for name, fd in files:
        _send(name, fd, sink)
    write_line(sink, {'end': True})
    return {'since': since, 'bytes': sum(size for number, size in sizes.items() if number > since)}


def _parsed(lines: list[str]) -> Known:
    found = []
    for line in lines:
        number, size, at = line.split(' ')
        found.append((int(number), int(size), at))
    return found


def _still_known(store: Store, known: Known) -> Known:
    """The streams that this store goes on from: those up to the first that it does not know."""
    packed = store.packed()
    for count, (number, _, at) in enumerate(known):
        if (number, at) not in packed:
            return known[:count]
    return known


def _begin_after(known: Known, sizes: dict[int, int]) -> int:
    """The number of the last checkpoint whose stream is not sent again. Those are sent again that are not much larger than what follows them, so that
    all that is sent grows with the logarithm of their number, and those of which most is not needed any more."""
    since = known[-1][0] if known else 0
    for count in range(len(known) - 1, -1, -1):
        number, sent, _ = known[count]
        before = known[count - 1][0] if count else 0
        left = sum(size for each, size in sizes.items() if before < each <= number)
        following = sum(size for each, size in sizes.items() if each > number)
        if sent <= max(2 * following, _SMALL) or 2 * left < sent:
            since = before
    return since


def _send(name: str, fd: int, sink: int) -> None:
    try:
        size = os.fstat(fd).st_size
        write_line(sink, {'name': name, 'size': size})
        for start, end in parts(fd, size):
            position = start
            while position < end:
                piece = os.pread(fd, min(_CHUNK, end - position), position)
                if not piece:
                    break
                write_line(sink, {'at': position, 'bytes': len(piece)})
                write_all(sink, piece)
                position += len(piece)
    finally:
        os.close(fd)
