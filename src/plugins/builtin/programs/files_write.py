"""Writes a text file, whole."""

from __future__ import annotations

import os

from prelude import write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    data: bytes = arguments['content'].encode()
    existed = os.path.exists(arguments['path'])
    write_atomically(arguments['path'], data)
    return {'bytes': len(data), 'existed': existed}
