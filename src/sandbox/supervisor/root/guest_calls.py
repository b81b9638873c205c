"""The guests' connections for calls of tools: frames in, answers out. All input may be hostile; an error is reported only to the guest that caused it."""

from __future__ import annotations

import struct

from root.loop import READ, WRITE
from shared.lean_json import encode_characters, loads
from shared.lean_modules import socket
from shared.protocol import LIMITS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.loop import Loop
    from root.methods import Methods
    from shared.shapes import Fields

_LENGTH = struct.Struct('>I')
_FRAME = LIMITS['methodBytes']
# Answers that one guest may leave unread.
_UNREAD = 8_000_000
# Active seconds from the first byte of a call to its last, and from connecting to the first call.
_PATIENCE = 10.0
_CREDENTIALS = struct.Struct('=3i')
_ID = 64
_TOOL = 200


class Guest:
    """One connection of the guest. A frame is its length in four bytes, then JSON: `token`, `id`, `tool`, `arguments`."""

    def __init__(self, accepted: socket.socket, loop: Loop, methods: Methods, on_close: Callable[[Guest], object]) -> None:
        self._socket = accepted
        self._loop = loop
        self._methods = methods
        self._on_close = on_close
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._mask = READ
        self._blocked = False
        self._closing = False
        self._closed = False
        self.process = _process_of(accepted)
        self.open = 0
        """Calls that wait for their answer."""
        self.proven = False
        """It has made a call with a valid token."""
        self.touched = loop.active
        self.overdue: float | None = loop.active + _PATIENCE
        """Active time by which it has to complete the call that it has begun to send; None between calls."""
        accepted.setblocking(False)
        self._fd = accepted.fileno()
        loop.add(self._fd, READ, self._on_ready)

    def send(self, body: bytes) -> None:
        if self._closed:
            return
        # A guest that does not read its answers is disconnected.
        if len(self._outgoing) > _UNREAD:
            self._close()
            return
        self._outgoing += _LENGTH.pack(len(body)) + body
        self._flush()

    def drop(self) -> None:
        """Closes it, to make room for others or because it took too long."""
        self._close()

    @property
    def is_blocked(self) -> bool:
        return self._blocked

    def resume(self) -> None:
        if self._blocked and not self._closed:
            self._blocked = False
            self._take_frames()
            self._listen()

    def _refuse(self, call_id: str | None, code: str, problem: str) -> None:
        self.send(encode_characters({'id': call_id, 'error': {'code': code, 'message': problem}}).encode('utf-8', 'replace'))

    def _on_ready(self, mask: int) -> None:
        if mask & WRITE:
            self._flush()
        if mask & ~WRITE and not self._closed:
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self._close()
            return
        self._incoming += data
        self.touched = self._loop.active
        self._take_frames()
        if self._blocked or not self._incoming:
            self.overdue = None
        elif self.overdue is None:
            self.overdue = self._loop.active + _PATIENCE
        self._listen()

    def _take_frames(self) -> None:
        incoming = self._incoming
        while not self._closed and not self._closing and len(incoming) >= 4:
            (length,) = _LENGTH.unpack_from(incoming)
            if length > _FRAME:
                # The start of the next frame is not known any more.
                self._refuse(None, 'TOO_LARGE', f'a call of {length} bytes; at most {_FRAME} are allowed. Pass the path of a file instead')
                self._closing = True
                self._flush()
                return
            if len(incoming) < length + 4:
                return
            # What follows is another call, with a time of its own.
            self.overdue = None
            if not self._take(bytes(incoming[4 : length + 4])):
                self._blocked = True
                return
            del incoming[: length + 4]

    def _take(self, payload: bytes) -> bool:
        """False when the call has to wait until another is answered."""
        call_id = None
        try:
            request = _parse(payload)
            call_id = request['id']
            desk = self._methods.desk_of(request['token'])
            if desk is None:
                raise Refused('NOT_ALLOWED', 'this token is not known; the code that it was given to has ended, or it was made up')
            if desk.is_full:
                self._methods.blocked.add(self)
                return False
            desk.take(self, call_id, request['tool'], request['arguments'])
            self.proven = True
            self.open += 1
        except Refused as refused:
            self._refuse(call_id, refused.code, refused.problem)
        return True

    def _flush(self) -> None:
        try:
            while self._outgoing:
                sent = self._socket.send(self._outgoing)
                del self._outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._close()
            return
        if self._closing and not self._outgoing:
            self._close()
            return
        self._listen()

    def _listen(self) -> None:
        if self._closed:
            return
        mask = (0 if self._blocked or self._closing else READ) | (WRITE if self._outgoing else 0)
        if mask != self._mask:
            self._mask = mask
            self._loop.change(self._fd, mask)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove(self._fd)
        self._socket.close()
        self._on_close(self)


def _process_of(accepted: socket.socket) -> int:
    try:
        pid: int = _CREDENTIALS.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        return pid
    except OSError:
        return 0


def _parse(payload: bytes) -> Fields:
    try:
        request = loads(payload)
    except (ValueError, RecursionError) as error:
        raise Refused('MALFORMED', 'the call is not JSON') from error
    if not isinstance(request, dict) or set(request) != {'token', 'id', 'tool', 'arguments'}:
        raise Refused('MALFORMED', 'a call is an object of token, id, tool and arguments')
    for name, limit in (('token', 100), ('id', _ID), ('tool', _TOOL)):
        if not isinstance(request[name], str) or not 0 < len(request[name]) <= limit or not request[name].isprintable():
            raise Refused('MALFORMED', f'{name} is not a text of 1 to {limit} characters')
    if not isinstance(request['arguments'], dict):
        raise Refused('TOOL_ARGUMENTS_INVALID', 'the arguments are not an object')
    return request
