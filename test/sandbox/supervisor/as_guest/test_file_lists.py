from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from as_guest import file_lists
from shared.lean_json import loads

if TYPE_CHECKING:
    from pathlib import Path

FILES = ['one.txt', 'a/two.txt', 'a/b/three.txt', '.hidden/four.txt', 'a/.five.txt']


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / 'tree'
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / 'link').symlink_to('a')
    (root / 'loop').symlink_to('loop')
    os.mkdir(os.fsencode(root) + b'/\xff')
    return root


def run(operation: Any, tmp_path: Path, **fields: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The lines that were sent, and the end."""
    with open(tmp_path / 'sent', 'w+b') as sink:
        end = operation(fields, -1, sink.fileno())
        sink.seek(0)
        return [loads(line) for line in sink], end


def listed(tmp_path: Path, tree: Path, **fields: Any) -> tuple[list[str], bool]:
    lines, end = run(file_lists.list_files, tmp_path, **{'path': str(tree), 'recursive': False, 'maxEntries': 100, **fields})
    return [line['path'][len(str(tree)) + 1 :] for line in lines], end['truncated']


def globbed(tmp_path: Path, tree: Path, pattern: str, **fields: Any) -> tuple[list[str], bool]:
    lines, end = run(file_lists.glob, tmp_path, **{'path': str(tree), 'pattern': pattern, 'hidden': False, 'maxEntries': 100, **fields})
    return [line['path'] for line in lines], end['truncated']


def test_a_directory_is_listed_with_names_of_any_bytes(tmp_path: Path, tree: Path) -> None:
    assert listed(tmp_path, tree) == (['.hidden', 'a', 'link', 'loop', 'one.txt', '\udcff'], False)


def test_links_are_listed_and_not_followed(tmp_path: Path, tree: Path) -> None:
    names, _ = listed(tmp_path, tree, recursive=True)
    assert [name for name in names if name.endswith('.txt')] == ['one.txt', '.hidden/four.txt', 'a/.five.txt', 'a/two.txt', 'a/b/three.txt']
    assert not [name for name in names if name.startswith(('link/', 'loop/'))]


def test_a_list_that_was_cut_says_so(tmp_path: Path, tree: Path) -> None:
    assert listed(tmp_path, tree, maxEntries=6) == (['.hidden', 'a', 'link', 'loop', 'one.txt', '\udcff'], False)
    assert listed(tmp_path, tree, maxEntries=5) == (['.hidden', 'a', 'link', 'loop', 'one.txt'], True)


def test_a_missing_directory_is_no_empty_list(tmp_path: Path, tree: Path) -> None:
    with pytest.raises(FileNotFoundError):
        listed(tmp_path, tree / 'none')


@pytest.mark.parametrize(
    ('pattern', 'found'),
    [
        ('*.txt', ['one.txt']),
        ('**/*.txt', ['a/b/three.txt', 'a/two.txt', 'one.txt']),
        ('a/*.txt', ['a/two.txt']),
        ('a/.*', ['a/.five.txt']),
        ('.hidden/*', ['.hidden/four.txt']),
        ('{a,.hidden}/*.txt', ['.hidden/four.txt', 'a/two.txt']),
        (r'*/{\.five,x}.*', ['a/.five.txt']),
        (r'{\.hidden,x}/*', ['.hidden/four.txt']),
    ],
)
def test_files_by_pattern(tmp_path: Path, tree: Path, pattern: str, found: list[str]) -> None:
    names, truncated = globbed(tmp_path, tree, pattern)
    assert (sorted(names), truncated) == (found, False)


def test_hidden_files_by_pattern(tmp_path: Path, tree: Path) -> None:
    names, _ = globbed(tmp_path, tree, '**/*.txt', hidden=True)
    assert sorted(names) == sorted(FILES)


def test_what_is_known_of_a_file(tmp_path: Path, tree: Path) -> None:
    os.utime(tree / 'one.txt', ns=(0, 1_500_000_000_123_456_789))
    os.chmod(tree / 'one.txt', 0o640)
    _, end = run(file_lists.file_info, tmp_path, path=str(tree / 'one.txt'))
    info = end['info']
    assert (info['type'], info['size'], info['mode'], info['modifiedAt']) == ('file', 7, 0o640, '2017-07-14T02:40:00.123Z')
    assert run(file_lists.file_info, tmp_path, path=str(tree / 'link'))[1]['info']['linkTarget'] == 'a'
    assert run(file_lists.file_info, tmp_path, path=str(tree / 'none'))[1] == {}
    assert run(file_lists.file_info, tmp_path, path=str(tree / 'one.txt/below'))[1] == {}


@pytest.mark.parametrize('nanoseconds', [2**63 * 10**9, -(2**63) * 10**9])
def test_times_that_no_calendar_holds_are_the_epoch(nanoseconds: int) -> None:
    assert file_lists._timestamp(nanoseconds) == '1970-01-01T00:00:00.000Z'
