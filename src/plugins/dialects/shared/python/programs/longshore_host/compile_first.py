"""Has the packages of a plugin compiled by another process, before the plugin is loaded for the first time. Memory that the compiler has used is not given
back: 5 MB for MaiBot's SDK, as long as the plugin runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from importlib.machinery import PathFinder

# The plugin is loaded anyway.
_AT_MOST_SECONDS = 20


def compile_first(code: str, packages: str) -> None:
    """Imports those packages that the code of the plugin imports, in a child. Does nothing where the code was compiled before."""
    if os.path.isdir(os.path.join(code, '__pycache__')):
        return
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(_AT_MOST_SECONDS)
            _silence()
            sys.path[1:1] = [os.path.abspath(packages)]
            _import_packages(code, packages)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _silence() -> None:
    # What packages say when they are imported is said again by the plugin's process.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)


def _import_packages(code: str, packages: str) -> None:
    import ast

    from longshore_host.source import imported_by, trees

    names = {name for tree in trees(code) for node in ast.walk(tree) for name in imported_by(node)}
    for name in sorted(names):
        if PathFinder.find_spec(name.split('.')[0], [os.path.abspath(packages)]) is not None:
            # Code of a stranger may raise anything.
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
