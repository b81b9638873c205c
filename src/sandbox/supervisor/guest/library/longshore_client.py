"""Sends calls of tools out of the sandbox, and receives their answers."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import weakref

from longshore_arguments import problem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

_LENGTH = struct.Struct('>I')
_AT_ONCE = 60
"""Connections of one process: fewer than the supervisor's limits for calls and for connections at a time."""
_LARGEST = 1_000_000
_SUSPICIOUS = re.compile(rb'\d{16}|\\u0000')
"""What a large number or a NUL character has in JSON; other texts may have it, too."""


class ToolError(Exception):
    """A tool failed, or could not be called; `code` says how."""

    def __init__(self, message: str, code: str = 'TOOL_FAILED') -> None:
        super().__init__(message)
        self.code = code


class InvalidArguments(ToolError, ValueError):
    """The arguments do not match the tool's parameters."""


class ToolDenied(ToolError, PermissionError):
    """The policy or a person refused the call; it was not run."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownTool(ToolError, AttributeError):
    """There is no such tool here."""


_ERRORS = {'TOOL_ARGUMENTS_INVALID': InvalidArguments, 'TOOL_DENIED': ToolDenied, 'TOOL_NOT_FOUND': UnknownTool}


def call(tool: str, arguments: dict[str, Any]) -> Any:
    """Waits for the answer, however long it takes."""
    call_id = os.urandom(16).hex()
    frame = _frame(call_id, tool, arguments)
    return _value(_shared_connections().exchange(frame, call_id))


async def call_async(tool: str, arguments: dict[str, Any]) -> Any:
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
            raise _closed() from error
        finally:
            writer.close()


_gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()
"""How many connections each event loop may still open."""


def _value(answer: dict[str, Any]) -> Any:
    if 'error' in answer:
        error = answer['error']
        raise _ERRORS.get(error['code'], ToolError)(error['message'], error['code'])
    return answer.get('ok')


def _frame(call_id: str, tool: str, arguments: dict[str, Any]) -> bytes:
    request = {'token': os.environ.get('LONGSHORE_TOOLS_TOKEN', ''), 'id': call_id, 'tool': tool, 'arguments': arguments}
    try:
        body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(tool, problem_of(arguments) or str(error)) from error
    if len(body) > _LARGEST:
        raise ToolError(f'a call of {len(body)} bytes; at most {_LARGEST} are allowed. Pass the path of a file instead', 'TOO_LARGE')
    problem = problem_of(arguments) if _SUSPICIOUS.search(body) else None
    if problem:
        raise _not_json(tool, problem)
    return _LENGTH.pack(len(body)) + body


def _not_json(tool: str, problem: str) -> ToolError:
    return InvalidArguments(f'{tool}: the arguments are not JSON: {problem}', 'TOOL_ARGUMENTS_INVALID')


def _closed() -> ToolError:
    return ToolError('the connection to the tools was closed', 'CLOSED')


def _path() -> str:
    path = os.environ.get('LONGSHORE_TOOLS')
    if not path:
        raise ToolError('tools can be called only by code that shell:run or code:run started', 'NOT_ALLOWED')
    return path


class _Connections:
    """Shared by all threads of a process; as many as there are running calls."""

    def __init__(self, here: tuple[int, str]) -> None:
        self.here = here
        self._gate = threading.BoundedSemaphore(_AT_ONCE)
        self._idle: list[socket.socket] = []

    def exchange(self, frame: bytes, call_id: str) -> dict[str, Any]:
        with self._gate:
            while self._idle:
                connection = self._idle.pop()
                try:
                    return self._exchange_on(connection, frame, call_id)
                except (ConnectionError, _Unanswered):
                    # It was closed while it was idle. Because of the id, no call is run twice.
                    continue
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(self.here[1])
                return self._exchange_on(connection, frame, call_id)
            except (ConnectionError, _Unanswered) as error:
                raise _closed() from error

    def _exchange_on(self, connection: socket.socket, frame: bytes, call_id: str) -> dict[str, Any]:
        try:
            connection.sendall(frame)
            answer: dict[str, Any] = json.loads(_receive(connection, _LENGTH.unpack(_receive(connection, 4))[0]))
        except BaseException:
            # When the caller gives up, the answer is still unread: the connection must not be used again.
            connection.close()
            raise
        if answer['id'] == call_id:
            self._idle.append(connection)
        else:
            # The supervisor could not read the call, and does not know where the next one begins.
            connection.close()
        return answer


class _Unanswered(Exception):
    pass


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(min(size - len(data), 1 << 20))
        if not more:
            raise _Unanswered
        data += more
    return bytes(data)


_shared: _Connections | None = None


def _shared_connections() -> _Connections:
    # A forked process opens connections of its own: on a shared one, either process could read the answer of the other.
    global _shared
    here = (os.getpid(), _path())
    if _shared is None or _shared.here != here:
        _shared = _Connections(here)
    return _shared
