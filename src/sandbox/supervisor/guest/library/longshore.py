"""Calls the conversation's tools from code in the sandbox.

    from longshore import tools
    tools.weather.lookup(city='Oslo')        # plugin and tool; also tools['weather:lookup']
    await tools.aio.weather.lookup(city='Oslo')

`dir(tools)` and `help(tools.weather.lookup)` show the tools. A tool that fails raises `ToolError`. A call that needs an
approval waits for it, however long it takes."""

from __future__ import annotations

import builtins
import os

from longshore_client import InvalidArguments, ToolDenied, ToolError, UnknownTool, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Callable, NoReturn

__all__ = ['InvalidArguments', 'ToolDenied', 'ToolError', 'UnknownTool', 'tools']

for _error in (InvalidArguments, ToolDenied, ToolError, UnknownTool):
    # Tracebacks show the names under which programs import them.
    _error.__module__ = 'longshore'

_LIST = 'longshore:tools'
_TAKEN = frozenset(dir(builtins))


class Ambiguous:
    """Stands for a name that several tools have. It raises when it is called, not when it is read, so that a program may still define the name itself."""

    def __init__(self, name: str, ids: Sequence[str]) -> None:
        self.problem = f"name '{name}' is ambiguous, it could be any of {', '.join(ids)}; call {' or '.join(f'tools[{tool_id!r}](…)' for tool_id in ids)}"

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise NameError(self.problem)

    def __repr__(self) -> str:
        return f'<{self.problem}>'


class _Plugin:
    """The tools of one plugin."""

    def __init__(self, plugin_id: str, functions: dict[str, Callable[..., Any]]) -> None:
        self._id = plugin_id
        self._functions = functions

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith('__'):
            raise AttributeError(name)
        try:
            return self._functions[name]
        except KeyError:
            raise UnknownTool(f'{self._id} has no tool {name}; it has {", ".join(sorted(self._functions))}', 'TOOL_NOT_FOUND') from None

    def __dir__(self) -> list[str]:
        return sorted(self._functions)

    def __repr__(self) -> str:
        return f'<tools of {self._id}: {", ".join(sorted(self._functions))}>'


class Tools:
    """All tools that this conversation's code may call."""

    def __init__(self, asynchronous: bool = False) -> None:
        self._asynchronous = asynchronous
        self._token: str | None = None
        self._plugins: dict[str, _Plugin] = {}
        self._bare: dict[str, Callable[..., Any]] = {}
        self._ambiguous: dict[str, Ambiguous] = {}
        self._ids: dict[str, Callable[..., Any]] = {}

    @property
    def aio(self) -> Tools:
        """The same tools as coroutines."""
        return _aio

    def bare_names(self) -> dict[str, Callable[..., Any]]:
        """Every function that can be named without its plugin, and `Ambiguous` under each name that several have."""
        self._load()
        return {**self._ambiguous, **self._bare}

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        self._load()
        found = self._plugins.get(name) or self._bare.get(name)
        if found is None and name in self._ambiguous:
            raise UnknownTool(self._ambiguous[name].problem, 'TOOL_NOT_FOUND')
        if found is None:
            raise UnknownTool(f'no tool or plugin {name}; there are {", ".join(sorted(self._ids)) or "none"}', 'TOOL_NOT_FOUND')
        return found

    def __getitem__(self, tool_id: str) -> Callable[..., Any]:
        self._load()
        if tool_id not in self._ids:
            raise UnknownTool(f'no tool {tool_id}; there are {", ".join(sorted(self._ids)) or "none"}', 'TOOL_NOT_FOUND')
        return self._ids[tool_id]

    def __dir__(self) -> list[str]:
        self._load()
        return sorted({*self._plugins, *self._bare, 'aio'})

    def __repr__(self) -> str:
        self._load()
        return f'<tools {", ".join(sorted(self._ids))}>'

    def _load(self) -> None:
        # Each piece of code asks once which tools it may call.
        token = os.environ.get('LONGSHORE_TOOLS_TOKEN')
        if self._token == token and token is not None:
            return
        from longshore_functions import bare_names, make_function, name_of

        ids: dict[str, Callable[..., Any]] = {}
        plugins: dict[str, tuple[str, dict[str, Callable[..., Any]]]] = {}
        specs = call(_LIST, {})
        for spec in specs:
            plugin_id, tool_id = spec['id'].split(':', 1)
            function = make_function(spec, self._asynchronous)
            ids[spec['id']] = function
            plugins.setdefault(name_of(plugin_id), (plugin_id, {}))[1][name_of(tool_id)] = function
        names = {name: meant for name, meant in bare_names(specs).items() if name not in _TAKEN}
        self._ids = ids
        self._bare = {name: ids[meant[0]] for name, meant in names.items() if len(meant) == 1}
        self._ambiguous = {name: Ambiguous(name, meant) for name, meant in names.items() if len(meant) > 1}
        self._plugins = {name: _Plugin(plugin_id, functions) for name, (plugin_id, functions) in plugins.items()}
        self._token = token


tools = Tools()
_aio = Tools(asynchronous=True)
