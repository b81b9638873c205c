"""Reads a page of a text file. Pages end at a line and stay below the limit of a tool result. A line longer than a page is cut, and a note in it says so."""

from __future__ import annotations

from prelude import Refusal, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGE_BYTES = 28_000


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    first: int = arguments['offsetLines']
    lines = lines_of(read_text(arguments['path']).decode(errors='replace'))
    if first > 0 and first >= len(lines):
        raise Refusal(f'{arguments["path"]}: has only {len(lines)} lines')
    taken = page(lines, first, arguments['limitLines'])
    return {'text': ''.join(taken), 'first': first, 'count': len(taken), 'total': len(lines)}


def lines_of(text: str) -> list[str]:
    """With their line ends. Only a line feed ends a line."""
    *lines, last = text.split('\n')
    return [f'{line}\n' for line in lines] + ([last] if last else [])


def page(lines: list[str], first: int, limit: int) -> list[str]:
    taken: list[str] = []
    size = 0
    for line in lines[first : first + limit]:
        length = len(line.encode())
        if taken and size + length > PAGE_BYTES:
            break
        taken.append(line if length <= PAGE_BYTES else cut(line, first + len(taken) + 1))
        size += length
    return taken


def cut(line: str, number: int) -> str:
    data = line.encode()
    kept = data[:PAGE_BYTES].decode(errors='ignore')
    rest = f'sed -n {number}p FILE | tail -c +{len(kept.encode()) + 1}'
    return f'{kept} [line cut: {len(data)} bytes; for the rest use shell:run: {rest}]\n'
