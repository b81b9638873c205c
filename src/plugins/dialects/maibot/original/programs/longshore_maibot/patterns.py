"""Regular expressions of Python in the syntax of JSON Schema (that of ECMAScript, for Unicode), with the same meaning. The worker matches messages with
them where a stranger's expression has a time limit; this process only matches what has matched there."""

from __future__ import annotations

import re
from typing import Any

try:
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Before Python 3.11.
    import sre_constants as codes
    import sre_parse as parser

_LONGEST = 2_000
_WORD = r'\p{L}\p{N}_'
_SYNTAX = frozenset('^$\\.*+?()[]{}|/-')
_CATEGORIES = {'DIGIT': r'\p{Nd}', 'NOT_DIGIT': r'\P{Nd}', 'SPACE': r'\s', 'NOT_SPACE': r'\S', 'WORD': _WORD}
_LINES = {'AT_BEGINNING': r'(?<![^\n])', 'AT_END': r'(?![^\n])'}
_PLACES = {
    'AT_BEGINNING': '^',
    'AT_BEGINNING_STRING': '^',
    'AT_END': r'(?=\n?$)',
    'AT_END_STRING': '$',
    'AT_BOUNDARY': f'(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))',
    'AT_NON_BOUNDARY': f'(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))',
}


_NOT_WORD = ('CATEGORY', codes.CATEGORY_NOT_WORD)


class _Unsupported(Exception):
    pass


def schema_pattern_of(pattern: str) -> str | None:
    """None for one that is invalid, or that has no counterpart."""
    try:
        tree = parser.parse(pattern)
        translated = _sequence(tree, tree.state.flags)
    except (_Unsupported, re.error, RecursionError, OverflowError):
        return None
    return translated if len(translated) <= _LONGEST else None


def beginning_with(text: str) -> str:
    return '^' + ''.join(_escaped(character) for character in text)


def _sequence(items: Any, flags: int) -> str:
    return ''.join(_item(str(code), argument, flags) for code, argument in items)


def _item(code: str, argument: Any, flags: int) -> str:
    if code in ('LITERAL', 'NOT_LITERAL'):
        return _class([('LITERAL', argument)], code == 'NOT_LITERAL', flags) if flags & re.IGNORECASE or code != 'LITERAL' else _escaped(chr(argument))
    if code == 'IN':
        members = [(str(kind), value) for kind, value in argument]
        negated = members[0][0] == 'NEGATE'
        return _class(members[1:] if negated else members, negated, flags)
    if code == 'ANY':
        return r'[\s\S]' if flags & re.DOTALL else r'[^\n]'
    if code == 'AT':
        place = str(argument)
        return _LINES[place] if flags & re.MULTILINE and place in _LINES else _PLACES[place]
    if code == 'GROUPREF' and not flags & re.IGNORECASE:
        return f'(?:\\{argument})'
    return _group(code, argument, flags)


def _group(code: str, argument: Any, flags: int) -> str:
    if code == 'BRANCH':
        return f'(?:{"|".join(_sequence(branch, flags) for branch in argument[1])})'
    if code == 'SUBPATTERN':
        number, added, removed, items = argument
        return f'({"" if number is not None else "?:"}{_sequence(items, (flags | added) & ~removed)})'
    if code in ('MAX_REPEAT', 'MIN_REPEAT'):
        least, most, items = argument
        times = f'{{{least},{"" if most == codes.MAXREPEAT else most}}}'
        return f'(?:{_sequence(items, flags)}){times}{"?" if code == "MIN_REPEAT" else ""}'
    if code in ('ASSERT', 'ASSERT_NOT'):
        direction, items = argument
        return f'(?{"<" if direction < 0 else ""}{"=" if code == "ASSERT" else "!"}{_sequence(items, flags)})'
    raise _Unsupported(code)


def _class(members: list[tuple[str, Any]], negated: bool, flags: int) -> str:
    if members == [_NOT_WORD]:
        return f'[{"" if negated else "^"}{_WORD}]'
    if _NOT_WORD in members:
        # A class cannot contain a negated one.
        either = '|'.join(_class([member], False, flags) for member in members)
        return f'(?:(?!{either})[\\s\\S])' if negated else f'(?:{either})'
    return f'[{"^" if negated else ""}{"".join(_member(kind, value, flags) for kind, value in members)}]'


def _member(kind: str, value: Any, flags: int) -> str:
    if kind == 'LITERAL':
        variants = _cases(chr(value)) if flags & re.IGNORECASE else [chr(value)]
        return ''.join(_escaped(each) for each in variants)
    if kind == 'RANGE':
        first, last = (chr(bound) for bound in value)
        span = f'{_escaped(first)}-{_escaped(last)}'
        if not flags & re.IGNORECASE:
            return span
        if first.isascii() and last.isascii() and (first.islower() == last.islower()) and first.isalpha() and last.isalpha():
            return f'{span}{first.swapcase()}-{last.swapcase()}'
        if first.isdigit() and last.isdigit():
            return span
        raise _Unsupported('a range without regard to case')
    if kind == 'CATEGORY':
        name = str(value).replace('CATEGORY_', '')
        if name in _CATEGORIES:
            return _CATEGORIES[name]
    raise _Unsupported(kind)


def _cases(character: str) -> list[str]:
    return sorted({each for each in (character, character.lower(), character.upper()) if len(each) == 1})


def _escaped(character: str) -> str:
    if character in _SYNTAX:
        return f'\\{character}' if character != '-' else r'\x2d'
    return character if character.isprintable() else f'\\u{{{ord(character):x}}}'
