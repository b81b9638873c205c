"""File patterns: `*` and `?` within a name, `[a-z]` and `[!a-z]`, `{a,b}`, and `**` for any number of directories. Works on bytes.

Matching never backtracks further than one star, so no pattern and no name makes it slow."""

from __future__ import annotations

from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Union

    _Token = Union[int, str, frozenset[int]]
    _Segment = Optional[list[_Token]]

_MAX_ALTERNATIVES = 256
_SPECIAL = b'*?[{\\'


def compile_pattern(pattern: bytes, hidden: bool) -> Callable[[bytes], bool]:
    """A function that says whether a path matches. Names that begin with a dot match only a pattern with that dot, unless `hidden`."""
    alternatives = [_compile_segments(one) for one in _expand(pattern)]
    return lambda path: any(_fits(segments, path.split(b'/'), hidden) for segments in alternatives)


def fixed_part(pattern: bytes) -> bytes:
    """The directories at the front of a pattern that have no wildcards."""
    segments = pattern.split(b'/')
    fixed = []
    for segment in segments[:-1]:
        if any(byte in _SPECIAL for byte in segment):
            break
        fixed.append(segment)
    joined = b'/'.join(fixed)
    return b'/' if joined == b'' and fixed else joined


def depth(pattern: bytes) -> int | None:
    """How many names a matching path has at most; None for any number."""
    return None if b'**' in pattern or b'{' in pattern else pattern.count(b'/') + 1


def names_hidden(pattern: bytes) -> bool:
    """Whether it has a dot at the beginning of a name."""
    return any(segment and segment[0] == 0x2E for one in _expand(pattern) for segment in _compile_segments(one))


def _expand(pattern: bytes) -> list[bytes]:
    """Expands the alternatives in braces."""
    # The search for the end of each brace reads the rest of the pattern.
    if pattern.count(b'{') > _MAX_ALTERNATIVES:
        raise Refused('INVALID_ARGUMENT', f'the pattern has more than {_MAX_ALTERNATIVES} braces; write several patterns')
    found = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        parts = _first_braces(one)
        if parts is None:
            found.append(one)
        else:
            head, choices, tail = parts
            waiting.extend(head + choice + tail for choice in reversed(choices))
        if len(found) + len(waiting) > _MAX_ALTERNATIVES:
            raise Refused('INVALID_ARGUMENT', f'the pattern has more than {_MAX_ALTERNATIVES} alternatives; write several patterns')
    return found


def _first_braces(pattern: bytes) -> tuple[bytes, list[bytes], bytes] | None:
    """Text before, choices and text after the first braces that hold a choice."""
    start = pattern.find(b'{')
    while start >= 0:
        level, choices, begin = 0, [], start + 1
        for position in range(start, len(pattern)):
            byte = pattern[position]
            if byte == 0x7B:
                level += 1
            elif byte == 0x7D:
                level -= 1
            if (byte == 0x2C and level == 1) or (byte == 0x7D and level == 0):
                choices.append(pattern[begin:position])
                begin = position + 1
            if level == 0:
                if len(choices) > 1:
                    return pattern[:start], choices, pattern[position + 1 :]
                break
        start = pattern.find(b'{', start + 1)
    return None


def _compile_segments(pattern: bytes) -> list[_Segment]:
    segments = pattern.split(b'/')
    # Several `**` in a row mean the same as one, and would take more time.
    needed = [segment for at, segment in enumerate(segments) if segment != b'**' or segments[at - 1 : at] != [b'**']]
    return [None if segment == b'**' else _compile_segment(segment) for segment in needed]


def _compile_segment(segment: bytes) -> list[_Token]:
    """A list of: a byte, a set of bytes, `?` or `*` as text."""
    tokens: list[_Token] = []
    position = 0
    while position < len(segment):
        byte = segment[position]
        position += 1
        if byte == 0x2A:
            if not tokens or tokens[-1] != '*':
                tokens.append('*')
        elif byte == 0x3F:
            tokens.append('?')
        elif byte == 0x5C and position < len(segment):
            tokens.append(segment[position])
            position += 1
        elif byte == 0x5B and segment.find(b']', position + 1) > 0:
            end = segment.find(b']', position + 1)
            tokens.append(_parse_set(segment[position:end]))
            position = end + 1
        else:
            tokens.append(byte)
    return tokens


def _parse_set(text: bytes) -> frozenset[int]:
    negated = text[:1] in (b'!', b'^')
    if negated:
        text = text[1:]
    members: set[int] = set()
    position = 0
    while position < len(text):
        if position + 2 < len(text) and text[position + 1] == 0x2D:
            members.update(range(text[position], text[position + 2] + 1))
            position += 3
        else:
            members.add(text[position])
            position += 1
    return frozenset(set(range(256)) - members if negated else members)


def _fits(segments: list[_Segment], names: list[bytes], hidden: bool) -> bool:
    """Which prefixes of `segments` match the names so far; one pass over the names."""
    reached = _skip({0}, segments)
    for name in names:
        following: set[int] = set()
        for position in reached:
            if position == len(segments):
                continue
            segment = segments[position]
            if segment is None:
                if hidden or not name.startswith(b'.'):
                    following.add(position)
            elif _fits_name(segment, name, hidden):
                following.add(position + 1)
        reached = _skip(following, segments)
        if not reached:
            return False
    return len(segments) in reached


def _skip(positions: set[int], segments: list[_Segment]) -> set[int]:
    """`**` also matches no directory."""
    skipped = set(positions)
    for start in positions:
        position = start
        while position < len(segments) and segments[position] is None:
            position += 1
            skipped.add(position)
    return skipped


def _fits_name(tokens: list[_Token], name: bytes, hidden: bool) -> bool:
    if name.startswith(b'.') and not hidden and (not tokens or tokens[0] != 0x2E):
        return False
    position, at, star, mark = 0, 0, -1, 0
    # A `?` is one character, so the continuation bytes of that character are skipped with it.
    while at < len(name):
        token = tokens[position] if position < len(tokens) else None
        if token == '*':
            star, mark = position, at
            position += 1
        elif token is not None and (token == '?' or (token == name[at] if isinstance(token, int) else name[at] in token)):
            at += 1
            if token == '?':
                while at < len(name) and name[at] & 0xC0 == 0x80:
                    at += 1
            position += 1
        elif star >= 0:
            mark += 1
            position, at = star + 1, mark
        else:
            return False
    return all(token == '*' for token in tokens[position:])
