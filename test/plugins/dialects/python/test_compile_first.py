from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import longshore_host

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """import sys
from longshore_host.compile_first import compile_first
path, modules = list(sys.path), set(sys.modules)
compile_first(*sys.argv[1:])
assert sys.path == path and set(sys.modules) == modules
"""


def compile_first(code: Path, packages: Path) -> str:
    """In a process of its own, as plugins have. Returns what it says."""
    env = {'PYTHONPATH': os.path.dirname(os.path.dirname(longshore_host.__file__))}
    done = subprocess.run([sys.executable, '-c', PROGRAM, str(code), str(packages)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    return done.stdout.decode()


def test_packages_that_the_code_imports_are_compiled_by_another_process(tmp_path: Path) -> None:
    code, packages = tmp_path / 'code', tmp_path / 'packages'
    code.mkdir()
    packages.mkdir()
    (code / 'plugin.py').write_text('import compiled_alone\nfrom compiled_package.inner import value\nimport ends_the_process\nimport json\nimport not_there')
    (code / 'broken.py').write_text('import (')
    (packages / 'compiled_alone.py').write_text('print("imported")')
    (packages / 'compiled_package').mkdir()
    (packages / 'compiled_package' / '__init__.py').write_text('')
    (packages / 'compiled_package' / 'inner.py').write_text('value = 1')
    (packages / 'compiled_package' / 'other.py').write_text('value = 2')
    (packages / 'ends_the_process.py').write_text('raise SystemExit(3)')
    (packages / 'not_imported.py').write_text('')
    assert compile_first(code, packages) == ''
    compiled = sorted(file.name.split('.')[0] for file in tmp_path.rglob('*.pyc'))
    assert compiled == ['__init__', 'compiled_alone', 'ends_the_process', 'inner']


def test_code_that_was_loaded_before_has_its_packages_compiled(tmp_path: Path) -> None:
    code, packages = tmp_path / 'code', tmp_path / 'packages'
    (code / '__pycache__').mkdir(parents=True)
    packages.mkdir()
    (code / 'plugin.py').write_text('import compiled_alone')
    (packages / 'compiled_alone.py').write_text('')
    assert compile_first(code, packages) == ''
    assert not list(packages.rglob('*.pyc'))
