"""What is known of a method: its name, its parameters, its comment."""

from __future__ import annotations

import inspect
import json
import typing
from typing import TYPE_CHECKING, Any, Callable

from longshore_nekro.context import AgentCtx

if TYPE_CHECKING:
    from longshore_nekro.plugin import SandboxMethod

_CONTEXTS = ('_ctx', 'ctx')
_UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def described(method: SandboxMethod) -> dict[str, Any]:
    func = method.func
    return {
        'name': func.__name__,
        'title': str(method.name),
        'description': str(method.description or ''),
        'doc': inspect.cleandoc(func.__doc__ or '').strip(),
        'kind': method.method_type.value,
        'parameters': _schema_of(func),
        'names': [parameter.name for parameter in parameters_of(func)],
    }


def parameters_of(func: Callable[..., Any]) -> list[inspect.Parameter]:
    """All but the context."""
    given = list(inspect.signature(func).parameters.values())
    context = context_of(func)
    return [parameter for parameter in given if parameter.name != context and parameter.kind not in _UNNAMED]


def context_of(func: Callable[..., Any]) -> str | None:
    """The parameter that gets the context: the one of its type, else of its usual names, else the first."""
    hints, names = hints_of(func), list(inspect.signature(func).parameters)
    of_type = [name for name in names if hints.get(name) is AgentCtx]
    return next(iter([*of_type, *(name for name in _CONTEXTS if name in names), *names]), None)


def bound(func: Callable[..., Any], context: AgentCtx, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call. One that was not given has its default."""
    name = context_of(func)
    named = {**arguments, **({} if name is None else {name: context})}
    positional = [parameter for parameter in inspect.signature(func).parameters.values() if parameter.kind is inspect.Parameter.POSITIONAL_ONLY]
    return [named.pop(each.name, each.default) for each in positional], named


def hints_of(func: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(func, include_extras=True)
    # A hint may be a text that means nothing at run time. The others count.
    except Exception:
        found = {name: _evaluated(hint, getattr(func, '__globals__', {})) for name, hint in getattr(func, '__annotations__', {}).items()}
        return {name: hint for name, hint in found.items() if hint is not None}


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    try:
        # It is code of the plugin, as the function itself is.
        return eval(hint, names)
    except Exception:
        return None


def _schema_of(func: Callable[..., Any]) -> dict[str, Any]:
    hints = hints_of(func)
    properties: dict[str, Any] = {}
    required, defs = [], {}
    for parameter in parameters_of(func):
        hint = hints.get(parameter.name, Any)
        schema = _schema_of_hint(typing.Optional[hint] if parameter.default is None else hint)
        defs.update(schema.pop('$defs', {}))
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            schema.update(_default_of(parameter.default))
        properties[parameter.name] = schema
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in inspect.signature(func).parameters.values())
    return {
        'type': 'object',
        'properties': properties,
        **({'required': required} if required else {}),
        **({'$defs': defs} if defs else {}),
        'additionalProperties': takes_all,
    }


def _schema_of_hint(hint: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    try:
        return dict(TypeAdapter(hint).json_schema())
    # Types that JSON does not know: any value is accepted.
    except Exception:
        return {}


def _default_of(value: Any) -> dict[str, Any]:
    try:
        return {'default': json.loads(json.dumps(value, allow_nan=False))}
    except (TypeError, ValueError):
        return {}
