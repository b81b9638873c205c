"""What the source of a plugin uses of Nekro Agent, without running it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from longshore_host.source import trees
from longshore_nekro.modules import ABSENT, is_offered
from longshore_nekro.refused import instead_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 200
_LEFT_OUT = ('test', 'tests', 'docs', 'scripts')
_READING = ('get_file', 'convert_to_host_path', 'download_file')
_TIMING = ('clear_timers', 'get_timers', 'set_temp_timer', 'set_timer')


def scan(code: str) -> dict[str, Any]:
    absent: set[str] = set()
    reads = times = False
    for tree in trees(code, _LEFT_OUT):
        for node in ast.walk(tree):
            absent.update(name for name in _imported_by(node) if name.split('.')[0] in ABSENT and not is_offered(name))
            name = getattr(node, 'attr', getattr(node, 'id', '')) if isinstance(node, (ast.Attribute, ast.Name)) else ''
            reads = reads or name in _READING
            times = times or name in _TIMING
    named = [{'name': name[:200], 'refusal': instead_of(name)} for name in sorted(absent)[:_MOST]]
    return {'absent': named, 'readsFiles': reads, 'setsTimers': times}


def _imported_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (f'{node.module}.{alias.name}' for alias in node.names)
