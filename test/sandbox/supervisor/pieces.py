"""Writes the pieces of a file side by side, as the supervisor's children do, and prints how many of ROUNDS lost something. Arguments: ROUNDS, a directory."""

from __future__ import annotations

import os
import sys

SUPERVISOR = os.path.join(os.path.dirname(__file__), '../../../src/sandbox/supervisor')
sys.path.insert(0, SUPERVISOR)
from as_guest import file_content  # noqa: E402

BLOCK = 4096
# The first piece begins the file, the second is a hole, the third ends with content.
PIECES = [b'begin' + bytes(BLOCK - 5), bytes(BLOCK), bytes(BLOCK - 3) + b'end']


def write(path: str, number: int, start: int | None = None) -> None:
    reader, writer = os.pipe()
    os.write(writer, PIECES[number])
    os.close(writer)
    fields = {'path': path, 'uploadId': 'upload', 'offset': number * BLOCK, 'size': BLOCK, 'parents': False}
    if start is not None:
        os.read(start, 1)
    file_content.write_part(fields, reader, -1)
    os.close(reader)


def write_aside(path: str, number: int, start: int) -> int:
    child = os.fork()
    if child == 0:
        write(path, number, start)
        os._exit(0)
    return child


def is_whole(path: str) -> bool:
    write(path, 0)
    start, go = os.pipe()
    children = [write_aside(path, number, start) for number in (1, 2)]
    os.write(go, b'..')
    for child in children:
        os.waitpid(child, 0)
    os.close(start)
    os.close(go)
    file_content.commit_parts({'path': path, 'uploadId': 'upload', 'size': len(PIECES) * BLOCK}, -1, -1)
    with open(path, 'rb') as file:
        return file.read() == b''.join(PIECES)


os.dup2(os.open(os.path.join(sys.argv[2], 'lock'), os.O_RDWR | os.O_CREAT, 0o600), file_content.LOCK)
print(sum(not is_whole(os.path.join(sys.argv[2], 'file')) for _ in range(int(sys.argv[1]))))
