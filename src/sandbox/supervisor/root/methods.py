"""Calls that the guest's code makes of the conversation's tools: received from the guest, sent to each worker until they
are answered, and answered once. All that the guest sends may be hostile; an error is reported only to the guest that caused it."""

from __future__ import annotations

import os

from root.guest_calls import Guest
from root.loop import READ
from shared.lean_json import encode_characters
from shared.lean_modules import accept, socket
from shared.protocol import LIMITS, Refused

try:
    from _operator import _compare_digest as are_same
except ImportError:
    from hmac import compare_digest as are_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from root.connection import Channel
    from root.loop import Loop
    from shared.shapes import Fields

_FRAME = LIMITS['methodBytes']
_OPEN = LIMITS['openMethods']
_CALLS = LIMITS['methodCalls']
_GUESTS = 128
# What a worker accepts; to a worker, a message with more is a breach of the protocol.
_NESTED = 500
_KEYS = 200_000
# The most memory of all waiting calls; the supervisor uses the memory of the sandbox.
_HOARD = 32_000_000
_ENDED = 'the code that was allowed to call tools has ended; processes that it left behind get no answers'


class Methods:
    """The guests' socket, and who may call through it: the bearers of the tokens of running execs."""

    def __init__(self, path: str, loop: Loop) -> None:
        self.path = path
        self.hoard = 0
        self.blocked: set[Guest] = set()
        """Guests whose next call waits for the answer of another."""
        self._loop = loop
        self._guests: set[Guest] = set()
        self._desks: dict[str, Desk] = {}
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen(64)
        loop.add(self._listener.fileno(), READ, self._accept)

    def open_desk(self) -> Desk:
        desk = Desk(self)
        self._desks[desk.token] = desk
        return desk

    def close_desk(self, desk: Desk) -> None:
        if self._desks.pop(desk.token, None) is not None:
            desk.close()
            self.unblock()

    def unblock(self) -> None:
        blocked, self.blocked = self.blocked, set()
        for guest in blocked:
            guest.resume()

    def desk_of(self, token: str) -> Desk | None:
        desk = self._desks.get(token)
        return desk if desk is not None and are_same(desk.token.encode(), token.encode()) else None

    def _accept(self, mask: int) -> None:
        try:
            fd = accept(self._listener)
        except OSError:
            return
        accepted = socket.socket(fileno=fd)
        if len(self._guests) >= _GUESTS:
            self._make_room()
        self._guests.add(Guest(accepted, self._loop, self, self._guests.discard))

    def due(self) -> float | None:
        """The active time at which the first guest has taken too long to send its call."""
        return min((guest.overdue for guest in self._guests if guest.overdue is not None), default=None)

    def on_time(self, now: float) -> None:
        for guest in [guest for guest in self._guests if guest.overdue is not None and now >= guest.overdue]:
            guest.drop()

    def _make_room(self) -> None:
        """Drops the least important connection: one that has never made a call, of the process with the most of them, and the longest silent.
        Connections that wait for an answer come last."""
        counts: dict[int, int] = {}
        for guest in self._guests:
            counts[guest.process] = counts.get(guest.process, 0) + 1

        def worth(guest: Guest) -> tuple[int, int, float]:
            rank = 0 if not guest.proven and not guest.is_blocked else 1 if guest.open == 0 and not guest.is_blocked else 2
            return (rank, -counts[guest.process], guest.touched)

        min(self._guests, key=worth).drop()


def _excess_of(arguments: dict[str, Any], line: bytes) -> str | None:
    """Which limit the arguments exceed, in words; `line` is their JSON."""
    if line.count(b'{') + line.count(b'[') + line.count(b':') <= _NESTED:
        return None
    level: list[Any] = [arguments]
    keys = 0
    # The line itself is the first level.
    for _ in range(_NESTED - 1):
        inner = [each for part in level for each in (part.values() if isinstance(part, dict) else part) if isinstance(each, (dict, list))]
        keys += len(level) + sum(len(part) for part in level if isinstance(part, dict))
        if keys > _KEYS - 10:
            return f'have more than {_KEYS} keys, objects and lists'
        if not inner:
            return None
        level = inner
    return f'are nested more than {_NESTED} levels deep'


class Call:
    __slots__ = ('guest', 'held', 'id', 'line', 'number', 'told')

    def __init__(self, number: int, guest: Guest, call_id: str, line: bytes) -> None:
        self.number = number
        self.guest = guest
        self.id = call_id
        self.line = line
        self.held = 0
        self.told = False
        """A worker has received it, and may have started it."""

    def send(self, body: bytes) -> None:
        self.guest.open -= 1
        self.guest.send(b'{"id":' + encode_characters(self.id).encode() + b',' + body[1:])


class Desk:
    """The calls of one exec, numbered in the order in which they came: the n-th stays the n-th for every worker."""

    def __init__(self, methods: Methods) -> None:
        self.token = os.urandom(24).hex()
        self.on_hold: Callable[[bool], object] = lambda held: None
        self._methods = methods
        self._ids: set[str] = set()
        self._open: dict[int, Call] = {}
        self._tellers: set[_Teller] = set()
        self._held = 0

    @property
    def is_full(self) -> bool:
        return len(self._open) >= _OPEN or self._methods.hoard > _HOARD

    def take(self, guest: Guest, call_id: str, tool: str, arguments: dict[str, Any]) -> None:
        if call_id in self._ids:
            raise Refused('REPLAYED', f'the id {call_id!a} was used before')
        if len(self._ids) >= _CALLS:
            raise Refused('TOO_MANY', f'this code has made {_CALLS} calls of tools; more are refused')
        number = len(self._ids) + 1
        try:
            line = encode_characters({'number': number, 'tool': tool, 'arguments': arguments}).encode()
        except (ValueError, RecursionError) as error:
            raise Refused('TOOL_ARGUMENTS_INVALID', f'the arguments are not JSON: {error}') from error
        if len(line) > _FRAME:
            raise Refused('TOO_LARGE', f'the arguments take {len(line)} bytes; at most {_FRAME} are allowed. Pass the path of a file instead')
        excess = _excess_of(arguments, line)
        if excess:
            raise Refused('TOO_LARGE', f'the arguments {excess}. Pass the path of a file instead')
        self._ids.add(call_id)
        call = Call(number, guest, call_id, line)
        self._open[number] = call
        self._methods.hoard += len(line)
        for teller in tuple(self._tellers):
            teller.tell(call)

    def follow(self, channel: Channel) -> None:
        teller = _Teller(channel, self._tellers.discard)
        self._tellers.add(teller)
        for call in self._open.values():
            teller.tell(call)

    def hold(self, number: int) -> int:
        """Stops the time limit of the code while the call runs. Returns for how many calls of this exec that was done."""
        call = self._open.get(number)
        if call is None:
            return self._held
        if not call.held:
            self._held += 1
            call.held = self._held
            self._count_held()
        return call.held

    def is_open(self, number: int) -> bool:
        return number in self._open

    def answer(self, number: int, body: bytes) -> None:
        """Only the first answer of a call counts."""
        call = self._open.pop(number, None)
        if call is None:
            return
        call.send(body)
        self._methods.hoard -= len(call.line)
        self._count_held()
        self._methods.unblock()

    def close(self) -> None:
        # A process that outlives the code would wait for ever.
        body = encode_characters({'error': {'code': 'NOT_ALLOWED', 'message': _ENDED}}).encode()
        for call in self._open.values():
            self._methods.hoard -= len(call.line)
            call.send(body)
        self._open.clear()
        for teller in tuple(self._tellers):
            teller.end()

    def _count_held(self) -> None:
        self.on_hold(any(call.held for call in self._open.values()))


class _Teller:
    """Sends calls to one worker, one line each, at its pace."""

    def __init__(self, channel: Channel, on_close: Callable[[_Teller], object]) -> None:
        self._channel = channel
        self._gone = on_close
        self._waiting: list[Call] = []
        self._rest = b''
        self._ended = False
        channel.handler = self

    def tell(self, call: Call) -> None:
        self._waiting.append(call)
        self.on_credit()

    def end(self) -> None:
        self._ended = True
        self._gone(self)
        self.on_credit()

    def on_credit(self) -> None:
        while self._rest or self._waiting:
            if not self._rest:
                call = self._waiting.pop(0)
                self._rest = b'{"repeated":' + (b'true' if call.told else b'false') + b',' + call.line[1:] + b'\n'
                call.told = True
            size = min(LIMITS['chunkBytes'], self._channel.writable)
            if size <= 0:
                return
            self._channel.data(self._rest[:size])
            self._rest = self._rest[size:]
        if self._ended:
            self._channel.end({})

    def on_close(self) -> None:
        self._gone(self)


class Answer:
    """Receives the body of one answer from the worker."""

    def __init__(self, channel: Channel, desk: Desk, fields: Fields) -> None:
        self._channel = channel
        self._desk = desk
        self._number = fields['number']
        self._size = fields['size']
        self._body = bytearray()
        channel.handler = self
        # One that was answered before is not asked for its body again.
        known = not desk.is_open(self._number)
        channel.reply_later({'accepted': self._size if known else 0})
        if known:
            channel.end({})

    def on_data(self, data: bytes) -> None:
        self._body += data
        self._channel.grant(len(data))
        if len(self._body) < self._size:
            return
        body = bytes(self._body)
        self._desk.answer(self._number, body)
        # Told with the next call of the code, which mostly comes at once.
        self._channel.end_later({})

    def on_credit(self) -> None:
        pass

    def on_close(self) -> None:
        pass
