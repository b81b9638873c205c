"""Runs the supervisor as on a Python that has none of the private modules which it prefers. Arguments: those of supervisor.py."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from typing import Any

CORES = {'_signal', '_socket', '_json', '_sha256', '_sha2', '_operator'}
SUPERVISOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../src/sandbox/supervisor')
ORIGINAL = builtins.__import__


def without(name: str, *rest: Any, **named: Any) -> Any:
    # The standard library's own modules are made of them.
    if name in CORES and sys._getframe(1).f_code.co_filename.startswith(os.path.realpath(SUPERVISOR)):
        raise ImportError(f'{name} was taken away')
    return ORIGINAL(name, *rest, **named)


builtins.__import__ = without
runpy.run_path(os.path.join(os.path.realpath(SUPERVISOR), 'supervisor.py'), run_name='__main__')
