"""What a server of the Model Context Protocol says about itself, and what the worker is told of it; for mcp_process.py."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_LOGGED = 1_000
_MAX_DATA = 4_000


def names_of(capabilities: dict[str, Any]) -> list[str]:
    """What the server offers, by the names of its capabilities: `subscriptions` if it reports changed resources, `tasks` if calls can be tasks."""
    resources = capabilities.get('resources')
    may_subscribe = isinstance(resources, dict) and resources.get('subscribe') is True
    of_calls = capabilities.get('tasks')
    for name in ('requests', 'tools', 'call'):
        of_calls = of_calls.get(name) if isinstance(of_calls, dict) else None
    names = [name for name in capabilities if name != 'tasks' or of_calls is not None]
    return [*names, *(['subscriptions'] if may_subscribe else [])]


def log(params: object) -> None:
    """What the server logs is read where its stderr is read."""
    if isinstance(params, dict):
        data = params.get('data')
        text = data if isinstance(data, str) else json.dumps(data)
        print(f'[{params.get("level")}] {text[:_MAX_LOGGED]}', file=sys.stderr, flush=True)


def tell_change(text: str) -> None:
    os.write(1, text.encode() + b'\n')


def small(data: Any) -> Any:
    """What a server says with an error is read by us alone, when it was asked what it speaks."""
    return data if len(json.dumps(data)) <= _MAX_DATA else None
