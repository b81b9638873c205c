"""Calls the conversation's tools from code in the sandbox.

    from longshore import tools
    tools.weather.lookup(city='Oslo')        # plugin and tool; also tools['weather:lookup']
    await tools.aio.weather.lookup(city='Oslo')

`dir(tools)` and `help(tools.weather.lookup)` tell what there is. A tool that fails raises `ToolError`. A call that needs somebody's
approval waits for it, however long it takes."""

import builtins
import json
import keyword
import os
import socket
import struct
import threading
import weakref

__all__ = ['InvalidArguments', 'ToolDenied', 'ToolError', 'UnknownTool', 'tools']

_LENGTH = struct.Struct('>I')
_LIST = 'longshore:tools'
_AT_ONCE = 60
_TAKEN = frozenset(dir(builtins))
_TYPES = {'string': str, 'integer': int, 'number': float, 'boolean': bool, 'array': list, 'object': dict, 'null': None}


class ToolError(Exception):
    """A tool failed, or could not be called; `code` says how."""

    def __init__(self, message, code='TOOL_FAILED'):
        super().__init__(message)
        self.code = code


class InvalidArguments(ToolError, ValueError):
    """The arguments do not fit the tool."""


class ToolDenied(ToolError, PermissionError):
    """The policy or a person refused the call; it was not run."""

    def __str__(self):
        return str(self.args[0])


class UnknownTool(ToolError, AttributeError):
    """There is no such tool here."""


_ERRORS = {'TOOL_ARGUMENTS_INVALID': InvalidArguments, 'TOOL_DENIED': ToolDenied, 'TOOL_NOT_FOUND': UnknownTool}


def _value(answer):
    if 'error' in answer:
        error = answer['error']
        raise _ERRORS.get(error['code'], ToolError)(error['message'], error['code'])
    return answer.get('ok')


def _frame(call_id, tool, arguments):
    token = os.environ.get('LONGSHORE_TOOLS_TOKEN', '')
    try:
        request = {'token': token, 'id': call_id, 'tool': tool, 'arguments': arguments}
        body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f'{tool}: the arguments are not JSON: {error}', 'TOOL_ARGUMENTS_INVALID') from error
    return _LENGTH.pack(len(body)) + body


def _path():
    path = os.environ.get('LONGSHORE_TOOLS')
    if not path:
        raise ToolError('tools can be called only by code that shell:run or code:run started', 'NOT_ALLOWED')
    return path


_local = threading.local()


def _call(tool, arguments):
    call_id = os.urandom(16).hex()
    frame = _frame(call_id, tool, arguments)
    here = (os.getpid(), _path())
    if getattr(_local, 'here', None) != here:
        _local.connection = socket.socket(socket.AF_UNIX)
        _local.connection.connect(here[1])
        _local.here = here
    try:
        _local.connection.sendall(frame)
    except (BrokenPipeError, ConnectionResetError):
        # A frame that is refused for its size is answered before it was read; the answer is still there.
        pass
    while True:
        answer = json.loads(_receive(_LENGTH.unpack(_receive(4))[0]))
        # An answer to a call that was given up is not for this one.
        if answer['id'] is None:
            # It could not even read the call, and does not know where the next one would begin.
            _local.here = None
        if answer['id'] in (call_id, None):
            return _value(answer)


def _receive(size):
    data = bytearray()
    while len(data) < size:
        try:
            more = _local.connection.recv(min(size - len(data), 1 << 20))
        except ConnectionResetError:
            more = b''
        if not more:
            _local.here = None
            raise ToolError('the connection to the tools was closed', 'CLOSED')
        data += more
    return bytes(data)


async def _call_async(tool, arguments):
    import asyncio

    call_id = os.urandom(16).hex()
    frame = _frame(call_id, tool, arguments)
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(_AT_ONCE)
    async with gate:
        reader, writer = await asyncio.open_unix_connection(_path())
        try:
            writer.write(frame)
            size = _LENGTH.unpack(await reader.readexactly(4))[0]
            return _value(json.loads(await reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ToolError('the connection to the tools was closed', 'CLOSED') from error
        finally:
            writer.close()


_gates = weakref.WeakKeyDictionary()
"""How many connections each event loop may still open."""


def _name(text):
    name = ''.join(letter if letter.isalnum() or letter == '_' else '_' for letter in text)
    return f'{name}_' if keyword.iskeyword(name) or name[:1].isdigit() else name


def _make(spec, asynchronous):
    import inspect

    schema = spec.get('parameters') or {}
    properties = schema.get('properties') or {}
    required = schema.get('required') or []
    names = sorted(properties, key=lambda name: name not in required)
    plain = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
    rest = 'more' if 'more' not in properties else 'more_'
    parameters = []
    for name in plain:
        schema_of_it = properties[name] if isinstance(properties[name], dict) else {}
        default = inspect.Parameter.empty if name in required else schema_of_it.get('default')
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=_annotation(schema_of_it)))
    if len(plain) < len(names) or not properties or schema.get('additionalProperties') not in (None, False):
        parameters.append(inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD))
    signature = inspect.Signature(parameters)

    def arguments_of(args, kwargs):
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{spec['id']}: {error}") from None
        more = bound.pop(rest, {})
        return {**bound, **more}

    if asynchronous:

        async def call(*args, **kwargs):
            return await _call_async(spec['id'], arguments_of(args, kwargs))
    else:

        def call(*args, **kwargs):
            return _call(spec['id'], arguments_of(args, kwargs))

    call.__name__ = _name(spec['id'].split(':')[1])
    call.__qualname__ = spec['id'].replace(':', '.')
    call.__module__ = 'longshore.tools'
    call.__signature__ = signature
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters if parameter.annotation is not inspect.Parameter.empty}
    call.__doc__ = _documentation(spec, properties, required)
    return call


def _annotation(schema):
    import inspect

    kind = schema.get('type')
    return _TYPES.get(kind, inspect.Parameter.empty) if isinstance(kind, str) else inspect.Parameter.empty


def _documentation(spec, properties, required):
    lines = [spec.get('description', ''), '']
    if properties:
        lines.append('Args:')
    for name, schema in properties.items():
        schema = schema if isinstance(schema, dict) else {}
        facts = [str(schema.get('type', 'any')), *([] if name in required else ['optional'])]
        choices = f" One of {json.dumps(schema['enum'])}." if 'enum' in schema else ''
        lines.append(f"    {name} ({', '.join(facts)}): {schema.get('description', '')}{choices}".rstrip())
    return '\n'.join(lines).strip()


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
        plugins, bare, twice = {}, {}, set()
        for spec in _call(_LIST, {}):
            plugin_id, tool_id = spec['id'].split(':', 1)
            function = _make(spec, self._asynchronous)
            self._ids[spec['id']] = function
            plugins.setdefault(_name(plugin_id), (plugin_id, {}))[1][_name(tool_id)] = function
            if _name(tool_id) in bare:
                twice.add(_name(tool_id))
            bare[_name(tool_id)] = function
            bare[_name(f'{plugin_id}_{tool_id}')] = function
        self._bare = {name: function for name, function in bare.items() if name not in twice and name not in _TAKEN}
        self._plugins = {name: _Plugin(plugin_id, functions) for name, (plugin_id, functions) in plugins.items()}
        self._token = token


tools = Tools()
_aio = Tools(asynchronous=True)
