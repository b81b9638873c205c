"""Makes the names of tools work in programs that do not import them."""

from __future__ import annotations

import ast
import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any


def offer_bare_names(tree: ast.AST, scope: dict[str, Any]) -> None:
    """Binds names that a program uses but does not define to the tools of these names. `tree`: its syntax tree."""
    if 'LONGSHORE_TOOLS' not in os.environ:
        return
    # A name that was ambiguous for an earlier piece of code of the context may have one meaning now.
    used: set[str] = set()
    made = set(dir(builtins)) | {name for name, value in scope.items() if not _is_ambiguous(value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        else:
            made.update(_names_made_by(node))
    missing = used - made
    if missing:
        from longshore import tools

        functions = tools.bare_names()
        for name in missing & {'tools', *functions}:
            scope[name] = tools if name == 'tools' else functions[name]


def _is_ambiguous(value: object) -> bool:
    longshore = sys.modules.get('longshore')
    return longshore is not None and type(value) is longshore.Ambiguous


def _names_made_by(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).split('.')[0]]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    return []


def prepare_main() -> CodeType:
    """The program on stdin, compiled to run in `__main__` as `python3 -` would run it."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = ['', *sys.path[1:], *([] if here in sys.path[1:] else [here])]
    sys.argv = ['-', *sys.argv[2:]]
    sys.excepthook = _report
    scope = sys.modules['__main__'].__dict__
    for name in ('prepare_main', '__file__', '__cached__'):
        scope.pop(name, None)
    scope['__doc__'] = None
    tree = ast.parse(sys.stdin.buffer.read(), '<stdin>')
    offer_bare_names(tree, scope)
    return compile(tree, '<stdin>', 'exec', dont_inherit=True)


def _report(kind: type[BaseException], problem: BaseException, frames: TracebackType | None) -> None:
    """Leaves out the frames that are not the program's."""
    while frames is not None and frames.tb_frame.f_code.co_filename != '<stdin>':
        frames = frames.tb_next
    sys.__excepthook__(kind, problem, frames)
