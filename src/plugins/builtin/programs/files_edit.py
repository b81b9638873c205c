"""Replaces one piece of text in a file. Works on bytes, so that only the replaced text changes, and no line ends or encoding."""

from __future__ import annotations

from prelude import Refusal, read_text, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_COUNTED, MAX_SHOWN = 1000, 10


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    path: str = arguments['path']
    old: bytes = arguments['oldText'].encode()
    new: bytes = arguments['newText'].encode()
    data = read_text(path)
    at, line = find_once(path, data, old)
    write_atomically(path, data[:at] + new + data[at + len(old) :])
    return {'line': line}


def find_once(path: str, data: bytes, old: bytes) -> tuple[int, int]:
    """Where the text is, and in which line."""
    found: list[int] = []
    at = data.find(old)
    while at != -1 and len(found) < MAX_COUNTED:
        found.append(at)
        at = data.find(old, at + 1)
    if not found:
        if old.replace(b'\r\n', b'\n') in data.replace(b'\r\n', b'\n'):
            raise Refusal(f'{path}: oldText is there, but with other line ends (CRLF); the file was not changed')
        raise Refusal(f'{path}: oldText is not in the file; it was not changed. Read the file and copy the text exactly, spaces and line breaks included')
    lines = [data.count(b'\n', 0, at) + 1 for at in found]
    if len(found) > 1:
        numbers = ', '.join(map(str, lines[:MAX_SHOWN])) + (', …' if len(lines) > MAX_SHOWN else '')
        raise Refusal(f'{path}: oldText is there {len(found)} times (lines {numbers}); the file was not changed. Give more of the text around it')
    return found[0], lines[0]
