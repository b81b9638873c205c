"""Commands: what a plugin does with messages that match a pattern."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from longshore_maibot.messages import message_of
from longshore_maibot.patterns import beginning_with, schema_pattern_of

if TYPE_CHECKING:
    from longshore_host.calls import Call

BEGINNING = 'command:'
"""Of the name under which a command is called."""


def described(name: str, about: dict[str, Any], timeout_ms: float) -> dict[str, Any]:
    """`pattern` is None for a command that no message can call here."""
    given = str(about.get('command_pattern') or '')
    pattern = schema_pattern_of(given) if given else ''
    ways = None if pattern is None else [*([f'(?:{pattern})'] if pattern else []), *(beginning_with(alias) for alias in aliases_of(about))]
    return {
        'name': name,
        'description': str(about.get('description') or name),
        'given': given[:200],
        'aliases': [alias[:200] for alias in aliases_of(about)[:50]],
        'pattern': '|'.join(ways) if ways else None,
        'forOperators': option_of(about, 'permission') == 'operator',
        'timeoutMs': timeout_ms,
    }


def arguments_of(about: dict[str, Any], text: str, call: Call) -> dict[str, Any]:
    """The arguments of a command's handler, in addition to the facts about its caller."""
    given = str(about.get('command_pattern') or '')
    found = re.search(given, text) if given else None
    said = {'id': '', 'by': 'user', 'text': text, 'at': datetime.now(timezone.utc).isoformat()}
    groups = {} if found is None else found.groupdict()
    return {'text': text, 'matched_groups': groups, 'message': {**message_of(said, call), 'is_command': True}, 'is_local_operator': False}


def aliases_of(about: dict[str, Any]) -> list[str]:
    return [alias for alias in about.get('aliases') or [] if isinstance(alias, str) and alias]


def option_of(about: dict[str, Any], name: str) -> Any:
    """The SDK puts options that it does not know under a `metadata` of their own."""
    nested = about.get('metadata')
    return about.get(name, nested.get(name) if isinstance(nested, dict) else None)
