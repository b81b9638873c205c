"""Each folder runs with rights of its own, so that what it may load is laid down."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SUPERVISOR = Path(__file__).parents[3] / 'src/sandbox/supervisor'
MAY_IMPORT = {
    '.': {'root'},
    'root': {'root', 'as_guest', 'shared'},
    'root/execs': {'root', 'as_guest', 'shared'},
    # Nothing of root's: it works on what guests have made.
    'as_guest': {'as_guest', 'shared'},
    'as_guest/checkpoints': {'as_guest', 'shared'},
    'shared': {'shared'},
    # Beside each other, as scripts; nothing that runs as root is theirs to load.
    'guest': {'guest', 'library'},
    'guest/library': {'library'},
}
FOLDERS = sorted({str(path.parent.relative_to(SUPERVISOR)) for path in SUPERVISOR.rglob('*.py')})
# They take long to load, and the first command of a sandbox would wait for them.
SLOW = {'typing', 'enum', 're', 'json', 'signal', 'socket', 'subprocess', 'threading', 'contextlib', 'functools', 'ctypes', 'tarfile', 'inspect'}


def imported(file: Path) -> set[str]:
    """Our folders that a file imports from, also for the type checker."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    found = {name.split('.')[0] for name in names}
    beside = {each for each in found if (SUPERVISOR / f'guest/{each}.py').exists()}
    library = {each for each in found if (SUPERVISOR / f'guest/library/{each}.py').exists()}
    return (found & {'root', 'as_guest', 'shared'}) | ({'guest'} if beside else set()) | ({'library'} if library else set())


def test_every_folder_is_laid_down() -> None:
    assert sorted(MAY_IMPORT) == FOLDERS


@pytest.mark.parametrize('folder', FOLDERS)
def test_a_folder_imports_what_it_may(folder: str) -> None:
    beyond = {str(file.relative_to(SUPERVISOR)): imported(file) - MAY_IMPORT[folder] for file in (SUPERVISOR / folder).glob('*.py')}
    assert {file: names for file, names in beyond.items() if names} == {}


def test_what_runs_at_the_start_loads_nothing_slow() -> None:
    program = f'import sys; sys.path.insert(0, {str(SUPERVISOR)!r}); import root.execs.nursery, root.service; print(*sys.modules)'
    loaded = subprocess.run([sys.executable, '-I', '-S', '-c', program], capture_output=True, text=True, check=True).stdout.split()
    assert 'root.service' in loaded
    assert SLOW & set(loaded) == set()
