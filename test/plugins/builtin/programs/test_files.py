"""The programs that read, list and edit files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import files_edit
import files_list
import files_read
from prelude import Refusal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ('text', 'lines'),
    [('', []), ('a', ['a']), ('a\n', ['a\n']), ('a\n\nb', ['a\n', '\n', 'b']), ('\n', ['\n']), ('a\r\nb\x0cc\u2028d', ['a\r\n', 'b\x0cc\u2028d'])],
)
def test_lines_together_are_the_text(text: str, lines: list[str]) -> None:
    assert files_read.lines_of(text) == lines
    assert ''.join(lines) == text


def test_a_page_ends_at_a_line_and_stays_below_its_limit() -> None:
    lines = ['x' * 9_999 + '\n'] * 5
    assert files_read.page(lines, 0, 10) == lines[:2]
    assert files_read.page(lines, 4, 10) == lines[:1]
    assert files_read.page(lines, 0, 1) == lines[:1]


def test_a_line_longer_than_a_page_is_cut_at_a_character_and_says_where_the_rest_is() -> None:
    long = 'x' + '€' * 10_000
    (cut,) = files_read.page(['first', long], 1, 1)
    assert cut == 'x' + '€' * 9_333 + ' [line cut: 30001 bytes; for the rest use shell:run: sed -n 2p FILE | tail -c +28001]\n'


def test_a_page_beyond_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'a'
    path.write_bytes(b'one\n\xff')
    whole = {'path': str(path), 'offsetLines': 0, 'limitLines': 10}
    assert files_read.main(whole) == {'text': 'one\n\ufffd', 'first': 0, 'count': 2, 'total': 2}
    with pytest.raises(Refusal, match=r': has only 2 lines$'):
        files_read.main({**whole, 'offsetLines': 2})


def test_text_is_replaced_only_where_it_is_once() -> None:
    assert files_edit.find_once('f', b'one\r\ntwo\r\n', b'two') == (5, 2)
    twice = 'the file was not changed. Give more of the text around it'
    problems = {
        (b'a\r\nb', b'a\nb'): 'oldText is there, but with other line ends (CRLF); the file was not changed',
        (b'a', b'b'): 'oldText is not in the file; it was not changed. Read the file and copy the text exactly, spaces and line breaks included',
        (b'a\na', b'a'): f'oldText is there 2 times (lines 1, 2); {twice}',
        (b'aaa', b'aa'): f'oldText is there 2 times (lines 1, 1); {twice}',
        (
            b'a\n' * 5000,
            b'a',
        ): f'oldText is there 1000 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …); {twice}',
    }
    for (data, old), problem in problems.items():
        with pytest.raises(Refusal) as refused:
            files_edit.find_once('f', data, old)
        assert str(refused.value) == f'f: {problem}'


def test_an_edit_changes_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / 'a'
    path.write_bytes(b'\xff one\r\ntwo\xfe')
    assert files_edit.main({'path': str(path), 'oldText': 'two', 'newText': ''}) == {'line': 2}
    assert path.read_bytes() == b'\xff one\r\n\xfe'


def test_a_list_says_what_each_entry_is(tmp_path: Path) -> None:
    (tmp_path / 'directory').mkdir()
    (tmp_path / 'directory/file').write_text('12')
    (tmp_path / '.git').mkdir()
    (tmp_path / '.git/config').touch()
    (tmp_path / 'link').symlink_to('directory')
    (tmp_path / 'a\nb').touch()
    flat = ['.git/', r"'a\nb'  0 bytes", 'directory/', 'link -> directory']
    assert files_list.main({'path': str(tmp_path), 'recursive': False}) == {'lines': flat, 'left': 0, 'countedAll': True}
    deep = ['.git/ (not looked into)', r"'a\nb'  0 bytes", 'directory/', 'directory/file  2 bytes', 'link -> directory']
    assert files_list.main({'path': str(tmp_path), 'recursive': True})['lines'] == deep


def test_entries_beyond_the_limit_are_counted_and_those_beyond_the_next_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in 'abcdef':
        (tmp_path / name).touch()
    monkeypatch.setattr(files_list, 'MAX_ENTRIES', 2)
    arguments = {'path': str(tmp_path), 'recursive': True}
    assert files_list.main(arguments) == {'lines': ['a  0 bytes', 'b  0 bytes'], 'left': 4, 'countedAll': True}
    monkeypatch.setattr(files_list, 'MAX_COUNTED', 3)
    assert files_list.main(arguments) == {'lines': ['a  0 bytes', 'b  0 bytes'], 'left': 3, 'countedAll': False}


def test_a_directory_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    os.symlink('loop', tmp_path / 'loop')
    with pytest.raises(Refusal, match=r'/loop: too many links$'):
        files_list.main({'path': str(tmp_path / 'loop'), 'recursive': False})
