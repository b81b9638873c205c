"""Lists a directory. Entries beyond MAX_ENTRIES are only counted, up to MAX_COUNTED."""

from __future__ import annotations

import os

from prelude import refuse_error, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ENTRIES, MAX_COUNTED = 500, 100_000
SKIPPED = {'.git', 'node_modules', '__pycache__', '.venv'}


class Enough(Exception):
    """All is counted that will be."""


class Listing:
    def __init__(self, recursive: bool) -> None:
        self.lines: list[str] = []
        self.left = 0
        self._recursive = recursive

    def walk(self, directory: str, prefix: str) -> None:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            at = self._take(entry, prefix)
            if self._recursive and entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                try:
                    self.walk(entry.path, f'{prefix}{entry.name}/')
                except (OSError, RecursionError) as error:
                    if at is not None:
                        self.lines[at] += f' ({getattr(error, "strerror", None) or "too deep"})'

    def _take(self, entry: os.DirEntry[str], prefix: str) -> int | None:
        """The number of the entry's line; None when it is only counted."""
        if len(self.lines) < MAX_ENTRIES:
            self.lines.append(self._describe(entry, prefix))
            return len(self.lines) - 1
        self.left += 1
        if self.left >= MAX_COUNTED:
            raise Enough
        return None

    def _describe(self, entry: os.DirEntry[str], prefix: str) -> str:
        name = shown(prefix + entry.name)
        try:
            if entry.is_symlink():
                return f'{name} -> {shown(os.readlink(entry.path))}'
            if entry.is_dir(follow_symlinks=False):
                return f'{name}/{" (not looked into)" if self._recursive and entry.name in SKIPPED else ""}'
            return f'{name}  {entry.stat(follow_symlinks=False).st_size} bytes'
        except OSError as error:
            return f'{name} ({error.strerror or "unreadable"})'


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    listing = Listing(arguments['recursive'])
    try:
        listing.walk(arguments['path'], '')
    except Enough:
        pass
    except OSError as error:
        refuse_error(arguments['path'], error)
    return {'lines': listing.lines, 'left': listing.left, 'countedAll': listing.left < MAX_COUNTED}
