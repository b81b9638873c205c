"""Calls the conversation's tools from code in the sandbox.

    from longshore import tools
    tools.weather.lookup(city='Oslo')        # plugin and tool; also tools['weather:lookup']
    await tools.aio.weather.lookup(city='Oslo')

`dir(tools)` and `help(tools.weather.lookup)` tell what there is. A tool that fails raises `ToolError`. A call that needs somebody's
approval waits for it, however long it takes."""

import builtins
import os

from longshore_client import InvalidArguments, ToolDenied, ToolError, UnknownTool, call

__all__ = ['InvalidArguments', 'ToolDenied', 'ToolError', 'UnknownTool', 'tools']

for _error in (InvalidArguments, ToolDenied, ToolError, UnknownTool):
    # Tracebacks name them as programs import them.
    _error.__module__ = 'longshore'

_LIST = 'longshore:tools'
_TAKEN = frozenset(dir(builtins))


class _Plugin:
    """The tools of one plugin."""

    def __init__(self, plugin_id, functions):
        self._id = plugin_id
        self._functions = functions

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        try:
            return self._functions[name]
        except KeyError:
            raise UnknownTool(f"{self._id} has no tool {name}; it has {', '.join(sorted(self._functions))}", 'TOOL_NOT_FOUND') from None

    def __dir__(self):
        return sorted(self._functions)

    def __repr__(self):
        return f"<tools of {self._id}: {', '.join(sorted(self._functions))}>"


class Tools:
    """All tools that this conversation's code may call."""

    def __init__(self, asynchronous=False):
        self._asynchronous = asynchronous
        self._token = None
        self._plugins = {}
        self._bare = {}
        self._ids = {}

    @property
    def aio(self):
        """The same, to be awaited."""
        return _aio

    def bare_names(self):
        """Every function that can be named without its plugin: what no other plugin has, and `plugin_tool` for all."""
        self._load()
        return self._bare

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        self._load()
        found = self._plugins.get(name) or self._bare.get(name)
        if found is None:
            raise UnknownTool(f"no tool or plugin {name}; there are {', '.join(sorted(self._ids)) or 'none'}", 'TOOL_NOT_FOUND')
        return found

    def __getitem__(self, tool_id):
        self._load()
        if tool_id not in self._ids:
            raise UnknownTool(f"no tool {tool_id}; there are {', '.join(sorted(self._ids)) or 'none'}", 'TOOL_NOT_FOUND')
        return self._ids[tool_id]

    def __dir__(self):
        self._load()
        return sorted({*self._plugins, *self._bare, 'aio'})

    def __repr__(self):
        self._load()
        return f"<tools {', '.join(sorted(self._ids))}>"

    def _load(self):
        # What may be called is asked for once by each piece of code.
        token = os.environ.get('LONGSHORE_TOOLS_TOKEN')
        if self._token == token and token is not None:
            return
        from longshore_functions import make_function, name_of

        ids, plugins, bare, twice = {}, {}, {}, set()
        for spec in call(_LIST, {}):
            plugin_id, tool_id = spec['id'].split(':', 1)
            function = make_function(spec, self._asynchronous)
            ids[spec['id']] = function
            plugins.setdefault(name_of(plugin_id), (plugin_id, {}))[1][name_of(tool_id)] = function
            if name_of(tool_id) in bare:
                twice.add(name_of(tool_id))
            bare[name_of(tool_id)] = function
            bare[name_of(f'{plugin_id}_{tool_id}')] = function
        self._ids = ids
        self._bare = {name: function for name, function in bare.items() if name not in twice and name not in _TAKEN}
        self._plugins = {name: _Plugin(plugin_id, functions) for name, (plugin_id, functions) in plugins.items()}
        self._token = token


tools = Tools()
_aio = Tools(asynchronous=True)
