"""Searches files with ripgrep. Matches beyond the limit are only counted, for a limited time. ripgrep's exit code 1 means only that nothing was found.
2 means that something could not be read, or that the search is invalid. Python's subprocess would take longer to load than most searches take."""

from __future__ import annotations

import os
import time

from prelude import MAX_FILE_BYTES, Refusal, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

MAX_BYTES, MAX_COUNTED, MAX_SECONDS, NAMED = 24_000, 100_000, 5, 5
FLAGS = ['--no-config', '--line-number', '--with-filename', '--null', '--no-heading', '--color=never', '--no-ignore-messages', '--sort=path']


class Matches:
    def __init__(self, limit: int) -> None:
        self.lines: list[str] = []
        self.left = 0
        self.counted_all = True
        self._size = 0
        self._limit = limit
        self._deadline = time.monotonic() + MAX_SECONDS

    def take(self, lines: Iterable[str]) -> bool:
        """False when some of them were not taken, not even counted."""
        for line in lines:
            if self.left or len(self.lines) == self._limit or self._size > MAX_BYTES:
                self.left += 1
                if self.left >= MAX_COUNTED or time.monotonic() > self._deadline:
                    self.counted_all = False
                    return False
                continue
            self.lines.append(line)
            self._size += len(line.encode()) + 1
        return True


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    if not os.path.exists(arguments['path']):
        raise Refusal(f'{shown(arguments["path"])}: no such file or directory')
    matches = Matches(arguments['limit'])
    status, said = search(words_of(arguments), matches)
    unread = [line[4:] if line.startswith('rg: ') else line for line in said if '(os error ' in line]
    if status == 2 and not matches.lines and not unread:
        raise Refusal('\n'.join(said).strip()[:2000] or 'the search failed')
    return {
        'lines': matches.lines,
        'left': matches.left,
        'countedAll': matches.counted_all,
        'unread': [brief(line) for line in unread[:NAMED]],
        'unreadCount': len(unread),
    }


def words_of(arguments: dict[str, Any]) -> list[str]:
    words = ['rg', *FLAGS, '--max-columns=300', '--max-columns-preview']
    if arguments['glob']:
        words += ['--glob', arguments['glob']]
    if arguments['ignoreCase']:
        words += ['--ignore-case']
    if arguments['fixed']:
        words += ['--fixed-strings']
    return [*words, '--regexp', arguments['pattern'], '--', arguments['path']]


def search(words: list[str], matches: Matches) -> tuple[int, list[str]]:
    """The exit code of ripgrep, and the lines of its stderr."""
    found, stdout = os.pipe()
    # Not a pipe: a program that fills one waits for its reader.
    stderr = os.memfd_create('complaints')
    streams = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
    process = os.posix_spawnp(words[0], words, os.environ, file_actions=streams)
    os.close(stdout)
    with open(found, 'rb') as output:
        if not matches.take(lines_of(output)):
            os.kill(process, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.lseek(stderr, 0, os.SEEK_SET)
    with open(stderr, 'rb') as complaints:
        return status, complaints.read(MAX_FILE_BYTES).decode(errors='replace').splitlines()


def lines_of(output: Iterable[bytes]) -> Iterator[str]:
    pending = b''
    for raw in output:
        pending += raw
        path, mark, text = pending.partition(b'\0')
        # A name may have line breaks; what is said of a binary file has no mark.
        if not mark and b': binary file matches (found ' not in pending:
            continue
        pending = b''
        name = f'{shown(path.decode("utf-8", "surrogateescape"))}:' if mark else ''
        yield name + (text if mark else path).decode(errors='replace').rstrip('\n')


def brief(line: str) -> str:
    # ripgrep names a directory twice.
    name, _, problem = line.partition(': ')
    again = f'{name}: '
    return (again + problem[problem.find(again) + len(again) :] if again in problem else line)[:300]
