"""Reads the source of a plugin, without running it."""

from __future__ import annotations

import ast
import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def trees(code: str, left_out: tuple[str, ...] = ()) -> Iterator[ast.AST]:
    for directory, directories, names in os.walk(code):
        directories[:] = [name for name in directories if name not in left_out]
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


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ''


def imported_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module
