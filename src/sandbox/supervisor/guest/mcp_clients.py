"""The clients of a keeper, which are connections of the supervisor (root/execs/server_request.py), each with one request; for mcp_server.py."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading

from mcp_request import Request, line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Connections that have not sent their request yet.
_SILENT = 64
_READ_SIZE = 65536
_MAX_REQUEST = 512 * 1024 * 1024
_DONE = b'\0'
_NO_REQUEST = 'it is not a request that can be sent'
_LENGTH = struct.Struct('>I')
_ELICITATION = 'elicitation/create'
_NO_ANSWER = {'ok': {'action': 'cancel'}}
_NOT_ASKED = {'error': {'code': 'TOOL_FAILED', 'message': 'it could not be asked'}}


class ClientRequest(Request):
    """The request of a client, whose worker may answer questions of the server."""

    def __init__(self, client: Client, asked: dict[str, Any]) -> None:
        tools = client.tools
        has_channel = asked.get('hasChannel') is True and 'token' in tools
        channel = {'longshore/channel': {'path': tools['tools'], 'token': tools['token']}} if has_channel else {}
        params = {**asked['params'], '_meta': {'progressToken': asked['id'], **channel}}
        super().__init__(asked['id'], asked['method'], params, asks='token' in tools and not has_channel)
        self._client = client

    def _pass_on(self, kind: str, fields: dict[str, Any]) -> None:
        if kind != 'ask':
            self._client.send(line_of(kind, fields) + (_DONE if self.over else b''))
            return
        try:
            threading.Thread(target=self._ask, kwargs=fields, daemon=True).start()
        except RuntimeError:
            # The sandbox has no room for another thread.
            self._answer(fields['number'], fields['method'], None)

    def _ask(self, number: int, method: str, params: dict[str, Any]) -> None:
        """Asks the worker as code calls its tools, so that each question is numbered, kept, and answered once."""
        call = {'token': self._client.tools['token'], 'id': f'ask-{number}', 'tool': method, 'arguments': params}
        answer = None
        with contextlib.suppress(OSError, ValueError):
            answer = _exchange(self._client.tools['tools'], call)
        self._answer(number, method, answer)

    def _answer(self, number: int, method: str, answer: dict[str, Any] | None) -> None:
        if self.server is not None:
            self.server.answer(self, number, answer or (_NO_ANSWER if method == _ELICITATION else _NOT_ASKED))


class Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.tools: dict[str, str] = {}
        """Where the worker can be asked."""
        self.request: ClientRequest | None = None
        self._sending = threading.Lock()
        self._has_head = False
        self._input = bytearray()

    def receive(self) -> dict[str, Any] | None:
        """Its request, once that is complete. A worker that was disconnected while it sent the request sends it again: the first complete line counts.
        Raises EOFError when none can come any more."""
        try:
            data = self.connection.recv(_READ_SIZE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        if not data or len(self._input) > _MAX_REQUEST:
            raise EOFError
        seen = len(self._input)
        self._input += data
        while (end := self._input.find(b'\n', seen)) >= 0:
            line = bytes(self._input[:end])
            del self._input[: end + 1]
            seen = 0
            with contextlib.suppress(ValueError, RecursionError):
                told = json.loads(line)
                if isinstance(told, dict):
                    if self._has_head:
                        return told
                    self.tools = told
                    self._has_head = True
        return None

    def send(self, data: bytes) -> None:
        # One that is gone is noticed by `Clients`.
        with self._sending, contextlib.suppress(OSError):
            self.connection.sendall(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            # Ends what is being sent, too.
            self.connection.shutdown(socket.SHUT_RDWR)
        with self._sending:
            self.connection.close()


class Clients:
    """Calls `begin` with each request, which must not wait, and `cancel` with those whose client has disconnected before their last report."""

    def __init__(self, listener: socket.socket, begin: Callable[[ClientRequest], None], cancel: Callable[[ClientRequest], None]) -> None:
        self._listener = listener
        self._begin = begin
        self._cancel = cancel
        # Not `select`, which takes no descriptor above 1023.
        self._epoll = select.epoll()
        self._epoll.register(listener, select.EPOLLIN)
        self._clients: dict[int, Client] = {}
        self._silent: dict[int, Client] = {}
        """Without a request yet, in the order in which they came: when there are too many of them, the one that came first is dropped."""

    def serve(self) -> None:
        while True:
            for fd, events in self._epoll.poll():
                if fd == self._listener.fileno():
                    self._accept()
                elif fd in self._clients:
                    self._attend(fd, events)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection = self._listener.accept()[0]
            fd = connection.fileno()
            self._clients[fd] = self._silent[fd] = Client(connection)
            self._epoll.register(fd, select.EPOLLIN)
        if len(self._silent) > _SILENT:
            self._drop(next(iter(self._silent)))

    def _attend(self, fd: int, events: int) -> None:
        client = self._clients[fd]
        if events & (select.EPOLLHUP | select.EPOLLERR):
            self._drop(fd)
        elif fd in self._silent:
            try:
                asked = client.receive()
            except (OSError, EOFError):
                client.send(_DONE)
                self._drop(fd)
                return
            if asked is not None:
                self._take(fd, client, asked)

    def _take(self, fd: int, client: Client, asked: dict[str, Any]) -> None:
        del self._silent[fd]
        # From now on, only its end counts. gVisor does not wake who waits for the end alone; it wakes at each change who waits for input in this way.
        self._epoll.modify(fd, select.EPOLLIN | select.EPOLLET)
        try:
            client.request = ClientRequest(client, asked)
        except (KeyError, TypeError):
            client.send(line_of('failed', {'why': _NO_REQUEST}) + _DONE)
        else:
            self._begin(client.request)

    def _drop(self, fd: int) -> None:
        self._epoll.unregister(fd)
        self._silent.pop(fd, None)
        client = self._clients.pop(fd)
        client.close()
        if client.request is not None and not client.request.over:
            self._cancel(client.request)


def _exchange(path: str, call: dict[str, Any]) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as tools:
        tools.connect(path)
        frame = json.dumps(call).encode()
        tools.sendall(_LENGTH.pack(len(frame)) + frame)
        answer: dict[str, Any] = json.loads(_receive(tools, _LENGTH.unpack(_receive(tools, _LENGTH.size))[0]))
        return answer


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ValueError('the connection was closed')
        data += more
    return bytes(data)
