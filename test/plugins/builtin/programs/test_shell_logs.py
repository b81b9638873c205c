"""Pages of the output of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import shell_logs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ('data', 'offset', 'size', 'page'),
    [
        (b'abc', 0, 10, ('abc', 3, 3)),
        (b'abc', 1, 1, ('b', 2, 3)),
        (b'abc', 3, 10, ('', 3, 3)),
        (b'a\xe2\x82\xac', 0, 3, ('a', 1, 4)),
        (b'a\xe2\x82\xac', 1, 3, ('€', 4, 4)),
        (b'a\nbcd', 0, 4, ('a\n', 2, 5)),
        (b'a\nbcd', 2, 4, ('bcd', 5, 5)),
        (b'a\nbcd', 0, 10, ('a\nbcd', 5, 5)),
        (b'a\xff\xfe\xfd\xfc', 0, 5, ('a\ufffd\ufffd\ufffd\ufffd', 5, 5)),
    ],
)
def test_a_page_ends_where_a_line_or_at_least_a_character_ends(tmp_path: Path, data: bytes, offset: int, size: int, page: tuple[str, int, int]) -> None:
    (tmp_path / 'stdout').write_bytes(data)
    assert shell_logs.page(str(tmp_path / 'stdout'), offset, size) == page


def test_both_outputs_have_their_own_offsets_and_one_that_is_missing_is_empty(tmp_path: Path) -> None:
    (tmp_path / 'stdout').write_bytes(b'out')
    arguments = {'directory': str(tmp_path), 'stdoutOffset': 1, 'stderrOffset': 5, 'pageBytes': 100}
    assert shell_logs.main(arguments) == {'stdout': 'ut', 'stdoutOffset': 3, 'stdoutKept': 3, 'stderr': '', 'stderrOffset': 5, 'stderrKept': 0}
