"""Makes the functions that stand for tools: with signatures, types and documentation."""

from __future__ import annotations

import inspect
import json
import keyword

from longshore_client import call, call_async

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_TYPES = {'string': str, 'integer': int, 'number': float, 'boolean': bool, 'array': list, 'object': dict, 'null': type(None)}
_NONE = inspect.Parameter.empty
_ENDS = {'agent', 'multimodal_agent'}


def name_of(text: str) -> str:
    name = ''.join(letter if letter.isalnum() or letter == '_' else '_' for letter in text)
    return f'{name}_' if keyword.iskeyword(name) or name[:1].isdigit() else name


def bare_names(specs: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The ids that each name may mean: tools by their own name, and by `plugin_tool`. Where a method is documented by its own name (`bare`), the name means
    it."""
    found: dict[str, list[str]] = {}
    preferred: dict[str, list[str]] = {}
    for spec in specs:
        plugin_id, tool_id = spec['id'].split(':', 1)
        for name in dict.fromkeys((name_of(tool_id), name_of(f'{plugin_id}_{tool_id}'))):
            found.setdefault(name, []).append(spec['id'])
        if spec.get('bare'):
            preferred.setdefault(name_of(tool_id), []).append(spec['id'])
    return {**found, **preferred}


def make_function(spec: dict[str, Any], asynchronous: bool) -> Callable[..., Any]:
    schema = spec.get('parameters') or {}
    properties = {name: part if isinstance(part, dict) else {} for name, part in (schema.get('properties') or {}).items()}
    required = schema.get('required') or []
    names = sorted(properties, key=lambda name: name not in required)
    plain = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
    rest = 'more' if 'more' not in properties else 'more_'
    parameters = []
    for name in plain:
        default = _NONE if name in required else properties[name].get('default')
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=_annotation(properties[name])))
    if len(plain) < len(names) or not properties or schema.get('additionalProperties') not in (None, False):
        parameters.append(inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD))
    signature = inspect.Signature(parameters, return_annotation=_returned(spec))
    # A parameter with the default None accepts None; it is then left out of the call.
    omitted = {name for name in properties if name not in required and not _takes_null(properties[name])}

    def arguments_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f'{spec["id"]}: {error}') from None
        more = bound.pop(rest, {})
        return {name: value for name, value in {**bound, **more}.items() if value is not None or name not in omitted}

    if asynchronous:

        async def function(*args: Any, **kwargs: Any) -> Any:
            return await call_async(spec['id'], arguments_of(args, kwargs))
    else:

        def function(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            return call(spec['id'], arguments_of(args, kwargs))

    function.__name__ = name_of(spec['id'].split(':')[1])
    function.__qualname__ = spec['id'].replace(':', '.')
    function.__module__ = 'longshore.tools'
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters if parameter.annotation is not _NONE}
    if signature.return_annotation is not _NONE:
        function.__annotations__['return'] = signature.return_annotation
    function.__doc__ = _documentation(spec, properties, required)
    return function


def _annotation(schema: dict[str, Any]) -> Any:
    """The type hint for a schema; empty when any value is accepted. Does not use `typing`, which takes longer to load than everything else."""
    choices = schema.get('enum')
    if isinstance(choices, list):
        return _union([type(choice) for choice in choices])
    kinds = schema.get('type')
    if kinds is None and isinstance(schema.get('anyOf'), list):
        return _union([_annotation(part) for part in schema['anyOf'] if isinstance(part, dict)])
    if isinstance(kinds, list):
        return _union([_TYPES.get(kind, _NONE) for kind in kinds])
    items = schema.get('items')
    item = _annotation(items) if kinds == 'array' and isinstance(items, dict) else _NONE
    return _TYPES.get(kinds or '', _NONE) if item is _NONE else list[item]  # type: ignore[valid-type]


def _union(hints: list[Any]) -> Any:
    if not hints or _NONE in hints:
        return _NONE
    union = hints[0]
    for hint in hints[1:]:
        try:
            union = union | hint
        except TypeError:  # a Python older than 3.10
            return _NONE
    return union


def _returned(spec: dict[str, Any]) -> Any:
    if spec.get('kind') == 'behavior':
        return str
    return _NONE if spec.get('kind') in _ENDS else _annotation(spec.get('result') or {})


def _takes_null(schema: dict[str, Any]) -> bool:
    if any(name in schema for name in ('$ref', 'oneOf', 'allOf', 'not', 'const')):
        return True
    if 'enum' in schema:
        return None in schema['enum']
    if isinstance(schema.get('anyOf'), list):
        return any(_takes_null(part) for part in schema['anyOf'] if isinstance(part, dict))
    kinds = schema.get('type')
    return kinds is None or 'null' in ([kinds] if isinstance(kinds, str) else kinds)


def _documentation(spec: dict[str, Any], properties: dict[str, Any], required: list[str]) -> str:
    lines = [spec.get('description', ''), '']
    # A description that documents the arguments itself, as a method's doc comment does, gets no second list of them.
    if properties and not any(line.strip() in ('Args:', 'Arguments:', 'Parameters:') for line in lines[0].split('\n')):
        lines.append('Args:')
        for name, schema in properties.items():
            facts = [_kind(schema), *([] if name in required else ['optional'])]
            choices = f' One of {json.dumps(schema["enum"])}.' if 'enum' in schema else ''
            lines.append(f'    {name} ({", ".join(facts)}): {schema.get("description", "")}{choices}'.rstrip())
        lines.append('')
    if spec.get('kind') in _ENDS:
        lines.append('The program ends at this call; what it tells goes to the model.')
    return '\n'.join(lines).strip()


def _kind(schema: dict[str, Any]) -> str:
    if isinstance(schema.get('type'), list):
        return ' or '.join(schema['type'])
    if isinstance(schema.get('anyOf'), list):
        return ' or '.join(dict.fromkeys(_kind(part) for part in schema['anyOf'] if isinstance(part, dict)))
    return str(schema.get('type', 'any'))
