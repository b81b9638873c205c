"""How the files of a skill are put into a directory."""

from __future__ import annotations

import base64
import multiprocessing
import os
from typing import TYPE_CHECKING, Any

import pytest

import skills_place
from prelude import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def given(directory: Path, text: str) -> dict[str, Any]:
    content = base64.b64encode(text.encode()).decode()
    return {'directory': str(directory), 'files': [{'path': path, 'executable': path == 'run.sh', 'content': content} for path in ['run.sh', 'a/b.txt']]}


def state_of(directory: Path) -> dict[str, tuple[str, int]]:
    return {str(path.relative_to(directory)): (path.read_text(), path.stat().st_mode & 0o777) for path in directory.rglob('*') if path.is_file()}


def place_often(directory: Path, text: str, times: int) -> None:
    for _ in range(times):
        skills_place.main(given(directory, text))


def test_files_take_the_place_of_what_is_there_whatever_it_is(tmp_path: Path) -> None:
    directory = tmp_path / 'skills' / 'tides'
    there: list[Callable[[], object]] = [
        lambda: None,
        lambda: None,
        lambda: directory.write_text('file'),
        lambda: directory.symlink_to('/nowhere'),
        lambda: (directory / 'deep').mkdir(parents=True),
    ]
    for number, make in enumerate(there):
        if number > 1:
            os.rename(directory, tmp_path / f'old{number}')
        make()
        assert skills_place.main(given(directory, f'text {number}')) == {'files': 2}
        assert state_of(directory) == {'run.sh': (f'text {number}', 0o555), 'a/b.txt': (f'text {number}', 0o444)}
        assert directory.stat().st_mode & 0o777 == 0o555
    assert os.listdir(directory.parent) == ['tides']


def test_several_that_read_a_skill_at_the_same_time_all_get_its_files(tmp_path: Path) -> None:
    directory = tmp_path / 'tides'
    fork = multiprocessing.get_context('fork')
    workers = [fork.Process(target=place_often, args=(directory, f'text {number}', 100)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    text = (directory / 'run.sh').read_text()
    assert state_of(directory) == {'run.sh': (text, 0o555), 'a/b.txt': (text, 0o444)}
    assert os.listdir(tmp_path) == ['tides']


@pytest.mark.parametrize('kind', ['more', 'fewer', 'another mode', 'open', 'another name', 'a link', 'a linked directory', 'another content', 'a pipe'])
def test_files_that_are_there_stay_where_they_are_unless_something_differs(kind: str, tmp_path: Path) -> None:
    directory = tmp_path / 'tides'
    skills_place.main(given(directory, 'text'))
    place = directory.stat().st_ino
    skills_place.main(given(directory, 'text'))
    assert directory.stat().st_ino == place
    directory.chmod(0o755)
    change(directory, kind)
    if kind != 'open':
        directory.chmod(0o555)
    skills_place.main(given(directory, 'text'))
    assert state_of(directory) == {'run.sh': ('text', 0o555), 'a/b.txt': ('text', 0o444)}
    assert directory.stat().st_mode & 0o777 == 0o555


def change(directory: Path, kind: str) -> None:
    program = directory / 'run.sh'
    if kind == 'more':
        (directory / 'more').write_text('')
    elif kind == 'another mode':
        program.chmod(0o755)
    elif kind == 'another name':
        (directory / 'a').rename(directory / 'c')
    elif kind == 'a linked directory':
        (directory / 'a').rename(directory.parent / 'a')
        (directory / 'a').symlink_to(directory.parent / 'a')
    elif kind != 'open':
        program.unlink()
        if kind == 'a link':
            program.symlink_to(directory / 'a' / 'b.txt')
        elif kind == 'another content':
            program.write_text('texT')
            program.chmod(0o555)
        elif kind == 'a pipe':
            os.mkfifo(program, 0o555)


def test_what_cannot_be_placed_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(Refusal, match='File exists'):
        skills_place.main(given(tmp_path / 'file' / 'tides', 'text'))
    wide = given(tmp_path / 'tides', 'text')
    wide['files'][1]['path'] = 'x' * 300
    with pytest.raises(Refusal, match='the name is too long'):
        skills_place.main(wide)
    assert os.listdir(tmp_path) == ['file']
