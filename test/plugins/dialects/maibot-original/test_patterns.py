"""Rules of how regular expressions of commands become patterns of JSON Schema. Whether these match as Python does is tested in patterns.test.ts."""

from __future__ import annotations

import pytest

from longshore_maibot.patterns import beginning_with, schema_pattern_of


@pytest.mark.parametrize(
    ('pattern', 'translated'),
    [
        (r'^/tide', r'^\/tide'),
        (r'^/tide\s+(?P<harbour>\S+)$', r'^\/tide(?:[\s]){1,}((?:[\S]){1,})(?=\n?$)'),
        (r'\A[a-z-]*?\Z', r'^(?:[a-z\x2d]){0,}?$'),
        (r'(?i)a[b-d]', r'[Aa][b-dB-D]'),
        (r'(\d)\1', r'([\p{Nd}])(?:\1)'),
        (r'(?m)^a$', r'(?<![^\n])a(?![^\n])'),
        (r'a(?=b)(?<!c)|.', r'(?:a(?=b)(?<!c)|[^\n])'),
        (r'[^\W]', r'[\p{L}\p{N}_]'),
        (r'[\W\d]', r'(?:[^\p{L}\p{N}_]|[\p{Nd}])'),
        ('潮', '潮'),
    ],
)
def test_a_pattern_keeps_its_meaning(pattern: str, translated: str) -> None:
    assert schema_pattern_of(pattern) == translated


@pytest.mark.parametrize('pattern', ['(', r'(a)?(?(1)b|c)', 'a' * 3000, r'(?i)[é-ü]', r'(?i)(a)\1'])
def test_a_pattern_without_a_counterpart_has_none(pattern: str) -> None:
    assert schema_pattern_of(pattern) is None


def test_an_alias_is_the_beginning_of_a_message() -> None:
    assert beginning_with('/a.b') == r'^\/a\.b'
