"""The parts of a search that need no ripgrep."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pytest

import files_search

PLAIN: dict[str, Any] = {'pattern': '-x', 'path': '/home/user', 'glob': '', 'ignoreCase': False, 'fixed': False}


def test_what_is_asked_for_becomes_options_and_a_pattern_never_does() -> None:
    assert files_search.words_of(PLAIN)[-4:] == ['--regexp', '-x', '--', '/home/user']
    options = files_search.words_of({**PLAIN, 'glob': '*.py', 'ignoreCase': True, 'fixed': True})
    assert options[-8:-4] == ['--glob', '*.py', '--ignore-case', '--fixed-strings']


@pytest.mark.parametrize(
    ('output', 'lines'),
    [
        (b'a.txt\x001:one\nb.txt\x0022:two\n', ['a.txt:1:one', 'b.txt:22:two']),
        (b'a\nb\x001:one\n', [r"'a\nb':1:one"]),
        (b'a\x001:\xff\n', ['a:1:\ufffd']),
        (b'\xff\x001:one\n', [r'\xff:1:one']),
        (b'a: binary file matches (found "\\0" byte around offset 3)\n', ['a: binary file matches (found "\\0" byte around offset 3)']),
    ],
)
def test_lines_of_ripgrep(output: bytes, lines: list[str]) -> None:
    assert list(files_search.lines_of(output.splitlines(keepends=True))) == lines


def test_matches_beyond_the_limit_are_counted() -> None:
    matches = files_search.Matches(2)
    assert matches.take(['a', 'b', 'c', 'd'])
    assert (matches.lines, matches.left, matches.counted_all) == (['a', 'b'], 2, True)


def test_matches_end_with_their_bytes() -> None:
    matches = files_search.Matches(500)
    assert matches.take(['€' * 4_000] * 4)
    assert (len(matches.lines), matches.left) == (2, 2)


def test_matches_are_not_counted_for_ever() -> None:
    matches = files_search.Matches(1)
    assert not matches.take(repeat('a'))
    assert (matches.lines, matches.counted_all) == (['a'], False)
    assert matches.left <= files_search.MAX_COUNTED


@pytest.mark.parametrize(
    ('line', 'brief'),
    [
        ('/a: /a: Permission denied (os error 13)', '/a: Permission denied (os error 13)'),
        ('/a: Permission denied (os error 13)', '/a: Permission denied (os error 13)'),
        ('/a: IO error for operation on /a: gone (os error 2)', '/a: gone (os error 2)'),
        ('x' * 400, 'x' * 300),
    ],
)
def test_a_complaint_names_its_file_once(line: str, brief: str) -> None:
    assert files_search.brief(line) == brief
