"""What files there are, and what is known of each."""

from __future__ import annotations

import os
import stat
import time

from as_guest import patterns
from as_guest.file_content import write_line
from shared.protocol import to_bytes, to_count, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable

    from shared.shapes import Fields


def list_files(fields: Fields, source: int, sink: int) -> Fields:
    root = os.path.abspath(to_bytes(fields['path']))
    fits = patterns.compile_pattern(to_bytes(fields['pattern']), True) if 'pattern' in fields else None
    os.listdir(root)
    left = fields['maxEntries']
    for path, status in _walk(root, lambda path: fields['recursive']):
        relative = path[len(root.rstrip(b'/')) + 1 :]
        if fits is not None and not fits(relative if b'/' in to_bytes(fields['pattern']) else os.path.basename(path)):
            continue
        if left == 0:
            return {'truncated': True}
        left -= 1
        write_line(sink, _describe(path, status))
    return {'truncated': False}


def glob(fields: Fields, source: int, sink: int) -> Fields:
    pattern = to_bytes(fields['pattern'])
    # The part without wildcards says where to look, and nothing else of the tree is read.
    base = patterns.fixed_part(pattern)
    root = os.path.abspath(os.path.join(to_bytes(fields['path']), base))
    fits = patterns.compile_pattern(pattern, fields['hidden'])
    depth = patterns.depth(pattern)
    enters_hidden = fields['hidden'] or patterns.names_hidden(pattern)
    prefix = base if base in (b'', b'/') else base + b'/'
    start = len(root.rstrip(b'/')) + 1
    left = fields['maxEntries']

    def inside(path: bytes) -> bool:
        relative = path[start:]
        if not enters_hidden and os.path.basename(path).startswith(b'.'):
            return False
        return depth is None or prefix.count(b'/') + relative.count(b'/') + 1 < depth

    for path, _ in _walk(root, inside):
        name = prefix + path[start:]
        if not fits(name):
            continue
        if left == 0:
            return {'truncated': True}
        left -= 1
        write_line(sink, {'path': to_text(name)})
    return {'truncated': False}


def file_info(fields: Fields, source: int, sink: int) -> Fields:
    path = os.path.abspath(to_bytes(fields['path']))
    try:
        return {'info': _describe(path, os.lstat(path))}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def _walk(root: bytes, enters: Callable[[bytes], bool]) -> Iterator[tuple[bytes, os.stat_result]]:
    """Each entry below `root` with its status, directory by directory; links are not followed, and what cannot be read is left out."""
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        found = []
        for name in names:
            path = os.path.join(directory, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode) and enters(path):
                found.append(path)
        waiting.extend(reversed(found))


def _describe(path: bytes, status: os.stat_result) -> Fields:
    kind = stat.S_IFMT(status.st_mode)
    info: Fields = {
        'path': to_text(path),
        'type': {stat.S_IFREG: 'file', stat.S_IFDIR: 'directory', stat.S_IFLNK: 'link'}.get(kind, 'other'),
        'size': to_count(status.st_size),
        'mode': stat.S_IMODE(status.st_mode),
        'modifiedAt': _timestamp(status.st_mtime_ns),
        'accessedAt': _timestamp(status.st_atime_ns),
        'changedAt': _timestamp(status.st_ctime_ns),
    }
    if kind == stat.S_IFLNK:
        try:
            info['linkTarget'] = to_text(os.readlink(path))
        except OSError:
            pass
    return info


def _timestamp(nanoseconds: int) -> str:
    # The guest may set any time, also one that no calendar holds.
    try:
        seconds = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(nanoseconds // 10**9))
    except (OverflowError, ValueError, OSError):
        return '1970-01-01T00:00:00.000Z'
    return f'{seconds}.{nanoseconds // 10**6 % 1000:03d}Z'
