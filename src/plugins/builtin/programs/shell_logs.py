"""Reads a page of both outputs of a command from byte offsets. Cuts them where a line ends, or at least a character, so that pages can be joined."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for stream in ('stdout', 'stderr'):
        text, end, kept = page(f'{arguments["directory"]}/{stream}', arguments[f'{stream}Offset'], arguments['pageBytes'])
        result.update({stream: text, f'{stream}Offset': end, f'{stream}Kept': kept})
    return result


def page(path: str, offset: int, size: int) -> tuple[str, int, int]:
    """The text, the offset after it, and the size of the file."""
    try:
        with open(path, 'rb') as file:
            file.seek(offset)
            data = file.read(size)
            kept = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        data, kept = b'', 0
    if len(data) == size:
        # A secret would not be recognized in its parts on two pages.
        data = data[: data.rfind(b'\n') + 1] or data
    for cut in range(min(4, len(data))):
        try:
            return data[: len(data) - cut].decode(), offset + len(data) - cut, kept
        except UnicodeDecodeError:
            pass
    return data.decode(errors='replace'), offset + len(data), kept
