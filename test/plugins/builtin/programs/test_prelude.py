"""How a program is started and answers, and what the programs share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import prelude

PROGRAMS = Path(__file__).parents[4] / 'src/plugins/builtin/programs'
PRELUDE = (PROGRAMS / 'prelude.py').read_text()


# The private core of json may be another one in some Python.
WITHOUT_CORE = PRELUDE.replace('import errno\n', "import sys; sys.modules['_json'] = None\nimport errno\n")


def run(program: str, arguments: object, prelude: str = PRELUDE) -> Any:
    words = [sys.executable, '-I', '-S', '-c', prelude, program]
    return json.loads(subprocess.run(words, input=json.dumps(arguments), capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize('prelude', [PRELUDE, WITHOUT_CORE], ids=['with the core of json', 'without it'])
def test_a_program_gets_the_arguments_and_gives_its_answer(prelude: str) -> None:
    arguments = {'text': 'a\n"€"\ud83d', 'number': 1, 'yes': True, 'none': None, 'list': [1.5, []]}
    assert run("def main(arguments):\n    return {'given': arguments}", arguments, prelude) == {'ok': {'given': arguments}}


def test_a_refusal_is_an_answer() -> None:
    assert run("from prelude import Refusal\ndef main(arguments):\n    raise Refusal('no: é')", {}) == {'problem': 'no: é'}


def test_every_program_starts_with_the_modules_of_a_bare_python(tmp_path: Path) -> None:
    path = str(tmp_path / 'a')
    assert run((PROGRAMS / 'files_write.py').read_text(), {'path': path, 'content': 'one\ntwo'}) == {'ok': {'bytes': 7, 'existed': False}}
    edit = {'path': path, 'oldText': 'two', 'newText': 'three'}
    assert run((PROGRAMS / 'files_edit.py').read_text(), edit) == {'ok': {'line': 2}}
    page = {'path': path, 'offsetLines': 1, 'limitLines': 1}
    assert run((PROGRAMS / 'files_read.py').read_text(), page) == {'ok': {'text': 'three', 'first': 1, 'count': 1, 'total': 2}}
    listing = {'path': str(tmp_path), 'recursive': False}
    assert run((PROGRAMS / 'files_list.py').read_text(), listing) == {'ok': {'lines': ['a  9 bytes'], 'left': 0, 'countedAll': True}}
    missing = {'path': f'{path}/x', 'pattern': 'x'}
    assert run((PROGRAMS / 'files_search.py').read_text(), missing) == {'problem': f'{path}/x: no such file or directory'}
    logs = {'directory': str(tmp_path), 'stdoutOffset': 0, 'stderrOffset': 0, 'pageBytes': 1}
    assert set(run((PROGRAMS / 'shell_logs.py').read_text(), logs)) == {'ok'}


@pytest.mark.parametrize(
    ('name', 'seen'), [('a b', 'a b'), ('a\nb', r"'a\nb'"), ('\u202ea', r"'\u202ea'"), (os.fsdecode(b'\xff'), r'\xff'), ('é', 'é'), ('\x1b[0m', r"'\x1b[0m'")]
)
def test_a_name_is_shown_so_that_all_of_it_is_seen(name: str, seen: str) -> None:
    assert prelude.shown(name) == seen


def test_a_file_is_read_only_if_it_is_text_and_ends(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'binary').write_bytes(b'a\0')
    (tmp_path / 'big').touch()
    os.truncate(tmp_path / 'big', prelude.MAX_FILE_BYTES + 1)
    problems = {
        'pipe': 'is not a regular file',
        'binary': 'is a binary file of 2 bytes; use shell:run with a tool that knows it',
        'big': 'is larger than 50 MB; use shell:run with head, sed or rg',
        'none': 'no such file or directory',
        'none/x': 'no such file or directory',
        'binary/x': 'a part of the path is not a directory',
        '': 'is a directory',
        'n' * 300: 'the name is too long',
    }
    for name, problem in problems.items():
        path = str(tmp_path / name)
        with pytest.raises(prelude.Refusal) as refused:
            prelude.read_text(path)
        assert str(refused.value) == f'{path}: {problem}'


def test_a_file_that_is_replaced_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    file, link = tmp_path / 'deep/run.sh', tmp_path / 'link'
    prelude.write_atomically(str(file), b'old')
    assert file.stat().st_mode & 0o777 == 0o644
    file.chmod(0o755)
    link.symlink_to(file)
    prelude.write_atomically(str(link), b'new')
    assert (link.is_symlink(), file.read_bytes(), file.stat().st_mode & 0o777, os.listdir(file.parent)) == (True, b'new', 0o755, ['run.sh'])
    with pytest.raises(prelude.Refusal, match=r': is a directory$'):
        prelude.write_atomically(str(tmp_path), b'')


@pytest.mark.parametrize('name', ['x' * 255, '渡' * 85, '🚢' * 63 + 'abc', '渡' * 83])
def test_a_name_may_be_as_long_as_the_file_system_allows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for data in (b'one', b'two'):
        prelude.write_atomically(str(path), data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ('program', 'arguments', 'problem'),
    [
        ('files_read', {'path': 'a\0b', 'offsetLines': 0, 'limitLines': 1}, 'embedded null'),
        ('files_list', {'path': 'a\0b', 'recursive': False}, 'embedded null'),
        ('files_write', {'path': 'a\0b', 'content': ''}, 'embedded null'),
        ('files_write', {'path': 'a', 'content': '\ud83d'}, 'surrogates not allowed'),
        ('files_edit', {'path': 'a', 'oldText': 'a', 'newText': '\ud83d'}, 'surrogates not allowed'),
    ],
)
def test_arguments_that_no_file_can_have_are_refused(program: str, arguments: dict[str, Any], problem: str, tmp_path: Path) -> None:
    text = (PROGRAMS / f'{program}.py').read_text()
    answer = run(text, {**arguments, 'path': str(tmp_path / arguments['path'])})
    assert answer == {'problem': answer['problem']}
    assert problem in answer['problem']
