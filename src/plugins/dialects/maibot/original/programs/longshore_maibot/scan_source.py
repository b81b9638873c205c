"""What the source of a plugin asks of its host, without running it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from longshore_host.source import imported_by, name_of, trees
from longshore_maibot.capabilities import PARTS, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 500
# The packages of MaiBot itself.
_FOREIGN = ('src', 'maim_message')


def scan(code: str) -> dict[str, Any]:
    capabilities: set[str] = set()
    foreign: set[str] = set()
    for tree in trees(code):
        for node in ast.walk(tree):
            capabilities.update(_used_by(node))
            foreign.update(name for name in imported_by(node) if name.split('.')[0] in _FOREIGN)
    named = [{'name': name[:200], 'refusal': refusal_of(name)} for name in sorted(capabilities)[:_MOST]]
    return {'capabilities': named, 'foreign': sorted(name[:200] for name in foreign)[:100]}


def _used_by(node: ast.AST) -> Iterator[str]:
    """`ctx.send.text`, also as `self.ctx.send.text`; and `call_capability('send.text')`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr in PARTS and name_of(node.value.value) == 'ctx':
        yield f'{node.value.attr}.{node.attr}'
    if isinstance(node, ast.Call) and name_of(node.func) == 'call_capability' and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value
