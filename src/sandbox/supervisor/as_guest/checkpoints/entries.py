"""What a checkpoint knows of one path, as a list that becomes JSON: its kind, and what belongs to that kind."""

from __future__ import annotations

import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Optional

    Entry = list[Any]
    Entries = dict[str, Entry]
    Change = dict[str, Optional[Entry]]

FILE, DIRECTORY, LINK, OTHER, CLOSED = 'f', 'd', 'l', 'o', 'x'
"""`OTHER`: sockets, named pipes and devices, whose content is not kept. `CLOSED`: what its user may not read, or what is too deep; it is left as it is."""

MODE, SIZE, MODIFIED, CHANGED, INODE, NAMES, OBJECT = range(1, 8)
"""Of a file. `NAMES`: how many hard links it has. `OBJECT`: its content in the store, empty while it is not kept."""
# The clock of files is coarse: what changed so shortly before it was looked at may change again without a trace.
_COARSE = 50_000_000


def file_entry(status: os.stat_result, content: str) -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    return [FILE, mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_nlink, content]


def is_untouched(entry: Entry, known: Entry | None) -> bool:
    """Whether a file is as it was when it was kept. The guest cannot set the time of the last change."""
    return known is not None and known[:OBJECT] == entry[:OBJECT] and known[OBJECT] != ''


def without_doubt(entry: Entry, now_ns: int) -> Entry:
    """The entry as it is stored: a file that was changed just now will be compared again."""
    if entry[0] == FILE and entry[CHANGED] > now_ns - _COARSE:
        entry = [*entry]
        entry[CHANGED] = 0
    return entry


def says(entry: Entry | None) -> Entry | None:
    """What of an entry matters to a user; the rest only helps to see changes."""
    if entry is None or entry[0] != FILE:
        return entry
    return [FILE, entry[MODE], entry[SIZE], entry[MODIFIED], entry[OBJECT]]


def differences(before: Entries, after: Entries) -> Change:
    """What `before` says of each path about which the two differ; None where it has nothing."""
    found: Change = {path: entry for path, entry in before.items() if says(entry) != says(after.get(path))}
    found.update((path, None) for path in after if path not in before)
    return found
