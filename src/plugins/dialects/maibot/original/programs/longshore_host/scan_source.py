"""What the source of a plugin asks of its host, without running it."""

from __future__ import annotations

import ast
import os
import warnings
from typing import TYPE_CHECKING, Any

from longshore_host.capabilities import PARTS, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 500
# The packages of MaiBot itself.
_FOREIGN = ('src', 'maim_message')


def scan(code: str) -> dict[str, Any]:
    capabilities: set[str] = set()
    foreign: set[str] = set()
    for tree in _trees(code):
        for node in ast.walk(tree):
            capabilities.update(_used_by(node))
            foreign.update(name for name in _imported_by(node) if name.split('.')[0] in _FOREIGN)
    named = [{'name': name[:200], 'refusal': refusal_of(name)} for name in sorted(capabilities)[:_MOST]]
    return {'capabilities': named, 'foreign': sorted(name[:200] for name in foreign)[:100]}


def _trees(code: str) -> Iterator[ast.AST]:
    for directory, _, names in os.walk(code):
        for name in names:
            if not name.endswith('.py'):
                continue
            try:
                with open(os.path.join(directory, name), 'rb') as file, warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    yield ast.parse(file.read())
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                # Python itself says what is wrong, if the file is used.
                continue


def _used_by(node: ast.AST) -> Iterator[str]:
    """`ctx.send.text`, also as `self.ctx.send.text`; and `call_capability('send.text')`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr in PARTS and _name_of(node.value.value) == 'ctx':
        yield f'{node.value.attr}.{node.attr}'
    if isinstance(node, ast.Call) and _name_of(node.func) == 'call_capability' and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ''


def _imported_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module
