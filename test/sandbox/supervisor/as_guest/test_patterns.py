from __future__ import annotations

import time

import pytest

from as_guest.patterns import compile_pattern, depth, fixed_part
from shared.protocol import Refused


@pytest.mark.parametrize(
    ('pattern', 'fitting', 'other'),
    [
        ('*.py', ['a.py', '.py.py'[1:]], ['a.pyc', 'a/b.py', '.a.py']),
        ('?.py', ['a.py', 'ü.py', '€.py'], ['ab.py', '.py']),
        ('[a-c]x', ['ax', 'cx'], ['dx', 'x']),
        ('[!a-c]x', ['dx'], ['ax']),
        ('[]]', [']'], ['[']),
        ('[', ['['], ['a']),
        ('a{b,c{d,e}}', ['ab', 'acd', 'ace'], ['ac', 'a{b,c{d,e}}']),
        ('{a}', ['{a}'], ['a']),
        ('**/x', ['x', 'a/x', 'a/b/x'], ['a/.b/x', 'y']),
        ('a/**', ['a', 'a/b', 'a/b/c'], ['b']),
        ('**/a/**/b', ['a/b', 'x/a/y/z/b'], ['b/a']),
        (r'\*', ['*'], ['a']),
        ('.*', ['.a'], ['a']),
        ('*?*', ['a', 'ab'], ['']),
    ],
)
def test_what_fits_a_pattern(pattern: str, fitting: list[str], other: list[str]) -> None:
    fits = compile_pattern(pattern.encode(), False)
    assert [name for name in fitting + other if fits(name.encode())] == fitting


def test_hidden_names_fit_when_they_are_asked_for() -> None:
    assert compile_pattern(b'**/*', True)(b'.a/.b')
    assert not compile_pattern(b'**/*', False)(b'.a/.b')


@pytest.mark.parametrize(('pattern', 'fixed'), [('a/b/*.py', 'a/b'), ('*.py', ''), ('/*', '/'), ('/a/*', '/a'), ('a', ''), ('a/{b,c}/d', 'a')])
def test_the_part_without_wildcards_says_where_to_look(pattern: str, fixed: str) -> None:
    assert fixed_part(pattern.encode()) == fixed.encode()


@pytest.mark.parametrize(('pattern', 'names'), [('*', 1), ('a/b', 2), ('**', None), ('{a,b/c}', None)])
def test_how_deep_a_pattern_reaches(pattern: str, names: int | None) -> None:
    assert depth(pattern.encode()) == names


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(Refused, match='more than 256 alternatives'):
        compile_pattern(b'{a,b}' * 9, False)


@pytest.mark.parametrize(
    ('pattern', 'path'),
    [(b'*a' * 2000 + b'b', b'a' * 250), (b'**/' * 1300 + b'b', b'a/' * 2000 + b'a'), (b'**/a/' * 100 + b'b', b'a/' * 2000 + b'a')],
    ids=['stars', 'double stars in a row', 'double stars between names'],
)
def test_no_pattern_is_slow(pattern: bytes, path: bytes) -> None:
    started = time.process_time()
    assert not compile_pattern(pattern, False)(path)
    assert time.process_time() - started < 10
