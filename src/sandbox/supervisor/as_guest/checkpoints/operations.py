"""The operations on checkpoints; in a module of its own, so that work on files does not load them."""

from __future__ import annotations

import gc

from as_guest.checkpoints.compare import compare
from as_guest.checkpoints.create import create
from as_guest.checkpoints.pack import pack
from as_guest.checkpoints.restore import restore
from as_guest.checkpoints.store import Store
from as_guest.file_content import write_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from shared.shapes import Fields

_HOME = b'.'


def _list(fields: Fields, sink: int) -> Fields:
    with Store(fields['store']) as store:
        for checkpoint in store.checkpoints():
            write_line(sink, checkpoint)
    return {}


def _create(fields: Fields, sink: int) -> Fields:
    # Nothing that is made here becomes garbage before the end, and there is much of it.
    gc.disable()
    return create(fields, _HOME)


def _restore(fields: Fields, sink: int) -> Fields:
    gc.disable()
    return restore(fields, _HOME)


def _compare(fields: Fields, sink: int) -> Fields:
    gc.disable()
    return compare(fields, _HOME, sink)


def _pack(fields: Fields, sink: int) -> Fields:
    return pack(fields, _HOME, sink)


OPERATIONS: dict[str, Callable[[Fields, int], Fields]] = {
    'createCheckpoint': _create,
    'restoreCheckpoint': _restore,
    'listCheckpoints': _list,
    'compareCheckpoint': _compare,
    'packCheckpoint': _pack,
}
