"""Calls that the guest's code makes of the conversation's tools: taken from the guest, told to the worker again and again until they
are answered, and answered once. All that the guest sends is hostile; what is wrong with it is told to that guest alone."""

import os
import struct

import _socket
from _operator import _compare_digest as are_same
from lean_json import encode_characters, loads
from loop import READ, WRITE
from protocol import LIMITS, Refused

_LENGTH = struct.Struct('>I')
_FRAME = LIMITS['methodBytes']
_OPEN = LIMITS['openMethods']
_CALLS = LIMITS['methodCalls']
_GUESTS = 128
# What all calls that wait may take; memory here is taken from the sandbox's.
_HOARD = 32_000_000
# Answers that one guest may leave unread.
_UNREAD = 8_000_000
_ID = 64
_TOOL = 200


class Methods:
    """The guests' socket, and who may call through it: the bearers of the tokens of running execs."""

    def __init__(self, path, loop):
        self.path = path
        self.hoard = 0
        self.blocked = set()
        """Guests whose next call waits for the answer of another."""
        self._loop = loop
        self._guests = set()
        self._desks = {}
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        self._listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC)
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen(64)
        loop.add(self._listener.fileno(), READ, self._accept)

    def open_desk(self):
        desk = Desk(self)
        self._desks[desk.token] = desk
        return desk

    def close_desk(self, desk):
        if self._desks.pop(desk.token, None) is not None:
            desk.close()
            self.unblock()

    def unblock(self):
        blocked, self.blocked = self.blocked, set()
        for guest in blocked:
            guest.resume()

    def desk_of(self, token):
        desk = self._desks.get(token)
        return desk if desk is not None and are_same(desk.token.encode(), token.encode()) else None

    def _accept(self, mask):
        try:
            fd, _ = self._listener._accept()
        except OSError:
            return
        accepted = _socket.socket(fileno=fd)
        if len(self._guests) >= _GUESTS:
            accepted.close()
            return
        self._guests.add(Guest(accepted, self._loop, self, self._guests.discard))


class Call:
    __slots__ = ('guest', 'held', 'id', 'line', 'number')

    def __init__(self, number, guest, call_id, line):
        self.number = number
        self.guest = guest
        self.id = call_id
        self.line = line
        self.held = 0


class Desk:
    """The calls of one exec, numbered in the order in which they came: the n-th stays the n-th, whoever asks, however often."""

    def __init__(self, methods):
        self.token = os.urandom(24).hex()
        self.on_hold = lambda held: None
        self._methods = methods
        self._ids = set()
        self._open = {}
        self._tellers = set()
        self._held = 0

    @property
    def is_full(self):
        return len(self._open) >= _OPEN or self._methods.hoard > _HOARD

    def take(self, guest, call_id, tool, arguments):
        if call_id in self._ids:
            raise Refused('REPLAYED', f'the id {ascii(call_id)} was used before')
        if len(self._ids) >= _CALLS:
            raise Refused('TOO_MANY', f'this code has made {_CALLS} calls of tools; more are not taken')
        number = len(self._ids) + 1
        try:
            line = encode_characters({'number': number, 'tool': tool, 'arguments': arguments}).encode()
        except (ValueError, RecursionError) as error:
            raise Refused('TOOL_ARGUMENTS_INVALID', f'the arguments are not JSON: {error}') from error
        if len(line) > _FRAME:
            raise Refused('TOO_LARGE', f'the arguments take {len(line)} bytes; at most {_FRAME} are taken. Pass the path of a file instead')
        self._ids.add(call_id)
        call = Call(number, guest, call_id, line)
        self._open[number] = call
        self._methods.hoard += len(line)
        for teller in tuple(self._tellers):
            teller.tell(call, False)

    def follow(self, channel):
        teller = _Teller(channel, self._tellers.discard)
        self._tellers.add(teller)
        for call in self._open.values():
            teller.tell(call, True)

    def hold(self, number):
        """The call will take its time, which is not the code's. Returns how many of this exec have been so."""
        call = self._open.get(number)
        if call is None:
            return self._held
        if not call.held:
            self._held += 1
            call.held = self._held
            self._count_held()
        return call.held

    def is_open(self, number):
        return number in self._open

    def answer(self, number, body):
        """Only the first answer of a call counts."""
        call = self._open.pop(number, None)
        if call is None:
            return
        self._methods.hoard -= len(call.line)
        self._count_held()
        call.guest.send(b'{"id":' + encode_characters(call.id).encode() + b',' + body[1:])
        self._methods.unblock()

    def close(self):
        for call in self._open.values():
            self._methods.hoard -= len(call.line)
        self._open.clear()
        for teller in tuple(self._tellers):
            teller.end()

    def _count_held(self):
        self.on_hold(any(call.held for call in self._open.values()))


class _Teller:
    """Tells calls to one worker, one line each, at its pace."""

    def __init__(self, channel, on_close):
        self._channel = channel
        self._gone = on_close
        self._waiting = []
        self._rest = b''
        self._ended = False
        channel.handler = self

    def tell(self, call, repeated):
        self._waiting.append((call, repeated))
        self.on_credit()

    def end(self):
        self._ended = True
        self._gone(self)
        self.on_credit()

    def on_credit(self):
        while self._rest or self._waiting:
            if not self._rest:
                call, repeated = self._waiting.pop(0)
                self._rest = b'{"repeated":' + (b'true' if repeated else b'false') + b',' + call.line[1:] + b'\n'
            size = min(LIMITS['chunkBytes'], self._channel.writable)
            if size <= 0:
                return
            self._channel.data(self._rest[:size])
            self._rest = self._rest[size:]
        if self._ended:
            self._channel.end({})

    def on_close(self):
        self._gone(self)


class Answer:
    """Gathers the body of one answer from the worker."""

    def __init__(self, channel, desk, fields):
        self._channel = channel
        self._desk = desk
        self._number = fields['number']
        self._size = fields['size']
        self._body = bytearray()
        channel.handler = self
        # One that was answered before is not asked for its body again.
        known = not desk.is_open(self._number)
        channel.reply({'accepted': self._size if known else 0})
        if known:
            channel.end({})

    def on_data(self, data):
        self._body += data
        self._channel.grant(len(data))
        if len(self._body) < self._size:
            return
        body = bytes(self._body)
        self._channel.end({})
        self._desk.answer(self._number, body)

    def on_credit(self):
        pass

    def on_close(self):
        pass


class Guest:
    """One connection of the guest. A frame is its length in four bytes, then JSON: `token`, `id`, `tool`, `arguments`."""

    def __init__(self, socket, loop, methods, on_close):
        self._socket = socket
        self._loop = loop
        self._methods = methods
        self._on_close = on_close
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._mask = READ
        self._blocked = False
        self._closing = False
        self._closed = False
        socket.setblocking(False)
        self._fd = socket.fileno()
        loop.add(self._fd, READ, self._on_ready)

    def send(self, body):
        if self._closed:
            return
        # One who does not read what it asked for is not waited for.
        if len(self._outgoing) > _UNREAD:
            self._close()
            return
        self._outgoing += _LENGTH.pack(len(body)) + body
        self._flush()

    def resume(self):
        if self._blocked and not self._closed:
            self._blocked = False
            self._take_frames()
            self._listen()

    def _refuse(self, call_id, code, problem):
        self.send(encode_characters({'id': call_id, 'error': {'code': code, 'message': problem}}).encode('utf-8', 'replace'))

    def _on_ready(self, mask):
        if mask & WRITE:
            self._flush()
        if mask & ~WRITE and not self._closed:
            self._receive()

    def _receive(self):
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
        self._take_frames()
        self._listen()

    def _take_frames(self):
        incoming = self._incoming
        while not self._closed and not self._closing and len(incoming) >= 4:
            (length,) = _LENGTH.unpack_from(incoming)
            if length > _FRAME:
                # Where the next frame begins is not known any more.
                self._refuse(None, 'TOO_LARGE', f'a call of {length} bytes; at most {_FRAME} are taken. Pass the path of a file instead')
                self._closing = True
                self._flush()
                return
            if len(incoming) < length + 4:
                return
            if not self._take(bytes(incoming[4 : length + 4])):
                self._blocked = True
                return
            del incoming[: length + 4]

    def _take(self, payload):
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
        except Refused as refused:
            self._refuse(call_id, refused.code, refused.problem)
        return True

    def _flush(self):
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

    def _listen(self):
        if self._closed:
            return
        mask = (0 if self._blocked or self._closing else READ) | (WRITE if self._outgoing else 0)
        if mask != self._mask:
            self._mask = mask
            self._loop.change(self._fd, mask)

    def _close(self):
        if self._closed:
            return
        self._closed = True
        self._loop.remove(self._fd)
        self._socket.close()
        self._on_close(self)


def _parse(payload):
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
