"""Commands, as plugins mount them."""

from __future__ import annotations

import enum
from typing import Any, Callable

BEGINNING = 'command:'
"""Of the name under which a command is called."""


class CommandPermission(str, enum.Enum):
    PUBLIC = 'public'
    USER = 'user'
    ADVANCED = 'advanced'
    SUPER_USER = 'super_user'


class Command:
    def __init__(self, name: str, func: Callable[..., Any], description: str = '', **options: Any) -> None:
        self.name = name
        self.func = func
        self.description = description
        self.usage = str(options.get('usage') or '')
        self.aliases = [str(alias) for alias in options.get('aliases') or []]
        self.permission = options.get('permission') or CommandPermission.USER


class CommandGroup:
    """Its commands are called `/group.name`."""

    def __init__(self, name: str, commands: list[Command], permission: Any = None) -> None:
        self._name = name
        self._commands = commands
        self._permission = permission

    def command(self, name: str, description: str = '', **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        options = {**options, 'permission': options.get('permission') or self._permission}

        def mount(func: Callable[..., Any]) -> Callable[..., Any]:
            self._commands.append(Command(f'{self._name}.{name}', func, description, **options))
            return func

        return mount
