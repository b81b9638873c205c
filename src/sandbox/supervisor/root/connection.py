"""One client's stream: frames in, frames out, many channels, each with a window of credit."""

from __future__ import annotations

import os
import struct

from root.loop import READ, WRITE
from shared.lean_json import encode
from shared.protocol import FRAMES, LIMITS, Refused, parse_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.loop import Loop
    from shared.shapes import Data, Fields, Handler

_HEADER = struct.Struct('>IBI')
_FRAME_BYTES = LIMITS['frameBytes']
_WINDOW = LIMITS['windowBytes']
_DATA = FRAMES['data']
_CHANNELS = LIMITS['channels']
_READ = 262144
# Output is not read from the journal while this much waits for the client, and requests are not read while four times this much does.
_HIGH_WATER = 262144


class Channel:
    """One operation of a client. `handler` (set by the operation) may have: `on_data(bytes)`, `on_credit()`, `on_close()`."""

    __slots__ = ('_owed', 'connection', 'credit', 'handler', 'number', 'received')

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.credit = _WINDOW
        self.received = _WINDOW
        self._owed = 0
        self.handler: Handler | None = None

    @property
    def writable(self) -> int:
        """How many bytes may be sent now."""
        return self.credit if len(self.connection.outgoing) < _HIGH_WATER else 0

    def reply(self, value: object) -> None:
        self.connection.send_json('reply', self.number, value)

    def reply_later(self, value: object) -> None:
        """As `reply`, for a reply that is not urgent: it is sent with the next frame, or after a short delay."""
        self.connection.hold_json('reply', self.number, value)

    def data(self, payload: Data, frame: str = 'data') -> None:
        self.credit -= len(payload)
        self.connection.send(FRAMES[frame], self.number, payload)

    def end(self, value: object) -> None:
        self.connection.channels.pop(self.number, None)
        self.connection.send_json('end', self.number, value)

    def end_later(self, value: object) -> None:
        self.connection.channels.pop(self.number, None)
        self.connection.hold_json('end', self.number, value)

    def fail(self, code: str, problem: str) -> None:
        self.connection.channels.pop(self.number, None)
        self.connection.send_json('error', self.number, {'code': code, 'problem': problem[:8000]})

    def grant(self, count: int) -> None:
        """Allows the client to send more; a frame is sent when the amount is large enough."""
        self.received += count
        self._owed += count
        if self._owed >= _WINDOW // 4:
            self.connection.send(FRAMES['credit'], self.number, struct.pack('>I', self._owed))
            self._owed = 0


class Connection:
    def __init__(self, source: int, sink: int, loop: Loop, handle: Callable[[Channel, str, Fields], None], on_close: Callable[[Connection], object]) -> None:
        """`source` and `sink` are different descriptors, also of one socket; both become the connection's."""
        self._source = source
        self._sink = sink
        self._loop = loop
        self._handle = handle
        self._on_close = on_close
        self._incoming = b''
        self._receiver = 0
        self._left = 0
        self._reading = True
        self._writing = False
        self._flushing = False
        self._closed = False
        self.outgoing = bytearray()
        self.channels: dict[int, Channel] = {}
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        loop.add(source, READ, self._receive)

    def send(self, frame: int, number: int, payload: Data) -> None:
        if self._closed:
            return
        self._append(frame, number, payload)
        if not self._flushing:
            self._flushing = True
            self._loop.after_events(self._flush)

    def send_json(self, frame: str, number: int, value: object) -> None:
        self.send(FRAMES[frame], number, encode(value).encode())

    def hold_json(self, frame: str, number: int, value: object) -> None:
        if not self._closed:
            self._append(FRAMES[frame], number, encode(value).encode())
            self._loop.later(self._flush)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for fd in (self._source, self._sink):
            self._loop.remove(fd)
            os.close(fd)
        channels, self.channels = self.channels, {}
        for channel in channels.values():
            if channel.handler is not None:
                channel.handler.on_close()
        self._on_close(self)

    def _append(self, frame: int, number: int, payload: Data) -> None:
        self.outgoing += _HEADER.pack(len(payload) + 5, frame, number)
        self.outgoing += payload

    def _receive(self, mask: int) -> None:
        try:
            self._take_frames()
        except Exception:
            self.close()
            raise

    def _take_frames(self) -> None:
        try:
            data = os.read(self._source, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self.close()
            return
        if self._incoming:
            data = self._incoming + data
        position, end = 0, len(data)
        while not self._closed:
            if self._left:
                # Data is passed on as it arrives; a frame of data is never buffered as a whole.
                part = data[position : position + self._left]
                if not part:
                    break
                position += len(part)
                self._left -= len(part)
                is_understood = self._dispatch(_DATA, self._receiver, part)
            else:
                if end - position < 9:
                    break
                length, frame, number = _HEADER.unpack_from(data, position)
                is_understood = 5 <= length <= _FRAME_BYTES
                if is_understood and frame == _DATA and length > 5:
                    self._receiver, self._left = number, length - 5
                    position += 9
                elif is_understood:
                    if end - position < length + 4:
                        break
                    payload = data[position + 9 : position + 4 + length]
                    position += length + 4
                    is_understood = self._dispatch(frame, number, payload)
            if not is_understood:
                self.close()
        self._incoming = data[position:]

    def _dispatch(self, frame: int, number: int, payload: bytes) -> bool:
        """False when the client broke the framing, after which nothing it says can be understood."""
        if frame == FRAMES['request']:
            return self._open(number, payload)
        channel = self.channels.get(number)
        if channel is None:
            # The operation ended before the frame arrived.
            return frame in (_DATA, FRAMES['credit'], FRAMES['cancel'])
        handler = channel.handler
        if frame == _DATA:
            channel.received -= len(payload)
            if channel.received < 0 or handler is None or not hasattr(handler, 'on_data'):
                return False
            handler.on_data(payload)
        elif frame == FRAMES['credit']:
            if len(payload) != 4:
                return False
            channel.credit = min(_WINDOW, channel.credit + struct.unpack('>I', payload)[0])
            if handler is not None:
                handler.on_credit()
        elif frame == FRAMES['cancel']:
            del self.channels[number]
            if handler is not None:
                handler.on_close()
        else:
            return False
        return True

    def _open(self, number: int, payload: bytes) -> bool:
        if number in self.channels:
            return False
        channel = Channel(self, number)
        if len(self.channels) >= _CHANNELS:
            channel.fail('INVALID_ARGUMENT', f'more than {_CHANNELS} operations at once')
            return True
        self.channels[number] = channel
        try:
            self._handle(channel, *parse_request(payload))
        except Refused as refused:
            channel.fail(refused.code, refused.problem)
        except Exception as error:
            channel.fail('INTERNAL', repr(error))
        return True

    def _flush(self, mask: int = WRITE) -> None:
        self._flushing = False
        if self._closed:
            return
        try:
            while self.outgoing:
                sent = os.write(self._sink, self.outgoing)
                del self.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        waiting = len(self.outgoing)
        self._listen(waiting < 4 * _HIGH_WATER, waiting > 0)
        if waiting < _HIGH_WATER // 2:
            for channel in list(self.channels.values()):
                if channel.handler is not None:
                    channel.handler.on_credit()

    def _listen(self, reading: bool, writing: bool) -> None:
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._loop.add(self._source, READ, self._receive)
            else:
                self._loop.remove(self._source)
        if writing != self._writing:
            self._writing = writing
            if writing:
                self._loop.add(self._sink, WRITE, self._flush)
            else:
                self._loop.remove(self._sink)
