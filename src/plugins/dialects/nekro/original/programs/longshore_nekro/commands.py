"""Commands: messages of the form `/name arguments`, which the plugin answers. Arguments are words in their order, `name:value`, or the rest of the message."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from longshore_nekro.command_types import CommandPermission
from longshore_nekro.methods import hints_of
from longshore_nekro.parts import Arg

if TYPE_CHECKING:
    from longshore_nekro.command_types import Command

_TIMEOUT_MS = 120_000
_SYNTAX = frozenset('^$\\.*+?()[]{}|/')
# A text in quotation marks is one word; `\"` in it is a quotation mark.
_WORD = re.compile(r'(?:([A-Za-z_]\w*):(?=\S))?(?:"((?:[^"\\]|\\.)*)"|(\S+))\s*')
_FOR_OPERATORS = (CommandPermission.ADVANCED, CommandPermission.SUPER_USER)


class ArgumentsRefused(ValueError):
    pass


def described(command: Command, namespace: str) -> dict[str, Any]:
    names = '|'.join(_escaped(each) for each in [command.name, *command.aliases])
    return {
        'name': command.name,
        'description': command.description or command.name,
        'timeoutMs': _TIMEOUT_MS,
        'given': f'/{command.usage or command.name}'[:200],
        'aliases': [f'/{alias}'[:200] for alias in command.aliases[:50]],
        'pattern': f'^/(?:{_escaped(namespace)}:)?(?:{names})(?=\\s|$)',
        'forOperators': command.permission in _FOR_OPERATORS,
    }


def arguments_of(command: Command, text: str) -> dict[str, Any]:
    """What the message gives to the function's parameters, apart from the context. Raises `ArgumentsRefused` with what is wrong."""
    given = text.split(maxsplit=1)[1] if len(text.split(maxsplit=1)) > 1 else ''
    hints = hints_of(command.func)
    parameters = list(inspect.signature(command.func).parameters.values())[1:]
    settings = {parameter.name: _arg_of(parameter, hints) for parameter in parameters}
    greedy = next((name for name, arg in settings.items() if arg.get('greedy')), None)
    words, named = _words_of(given, set(settings), greedy, [name for name in settings if name != greedy])
    found: dict[str, Any] = {}
    for parameter in parameters:
        name, arg = parameter.name, settings[parameter.name]
        default = arg.get('default', parameter.default)
        if name in named:
            found[name] = _converted(name, named[name], hints.get(name, str), arg)
        elif words:
            found[name] = _converted(name, words.pop(0), hints.get(name, str), arg)
        elif default is inspect.Parameter.empty:
            raise ArgumentsRefused(f'{name} is missing. Usage: /{command.usage or command.name}')
        else:
            found[name] = default
    return found


def _arg_of(parameter: inspect.Parameter, hints: dict[str, Any]) -> dict[str, Any]:
    """What the plugin says of a parameter: `Annotated[str, Arg(…)]`, or an `Arg` as its default."""
    noted = [each for each in getattr(hints.get(parameter.name), '__metadata__', ()) if isinstance(each, Arg)]
    if isinstance(parameter.default, Arg):
        return {'default': inspect.Parameter.empty, **vars(parameter.default)}
    return {key: value for each in noted for key, value in vars(each).items() if key != 'default'}


def _words_of(given: str, names: set[str], greedy: str | None, before: list[str]) -> tuple[list[str], dict[str, str]]:
    """The words in their order, and those that name their parameter. A parameter that is greedy gets what follows the words of the others."""
    words: list[str] = []
    named: dict[str, str] = {}
    place = 0
    while found := _WORD.match(given, place):
        if greedy is not None and len(words) == len([name for name in before if name not in named]):
            break
        name, quoted, plain = found.groups()
        value = re.sub(r'\\(.)', r'\1', quoted) if quoted is not None else plain
        if name in names:
            named[name] = value
        else:
            words.append(value if name is None else f'{name}:{value}')
        place = found.end()
    rest = given[place:].strip()
    if greedy is not None and rest:
        named[greedy] = rest
    return words, named


def _converted(name: str, value: str, hint: Any, arg: dict[str, Any]) -> Any:
    from pydantic import TypeAdapter, ValidationError

    kind = getattr(hint, '__origin__', hint) if hasattr(hint, '__metadata__') else hint
    try:
        converted = value if kind is str else TypeAdapter(kind).validate_python(value)
    except ValidationError as problem:
        raise ArgumentsRefused(f'{name} cannot be {value!r}: {problem.errors()[0]["msg"]}') from problem
    choices, bounds = arg.get('choices'), arg.get('range')
    if choices and converted not in choices:
        raise ArgumentsRefused(f'{name} cannot be {value!r}; known are {", ".join(map(str, choices))}')
    if bounds and not bounds[0] <= converted <= bounds[1]:
        raise ArgumentsRefused(f'{name} cannot be {value!r}; it is between {bounds[0]} and {bounds[1]}')
    return converted


def _escaped(text: str) -> str:
    return ''.join(f'\\{character}' if character in _SYNTAX else '\\x2d' if character == '-' else character for character in text)
