"""One connection of the guest, carried over a channel: an empty piece of data means that its side sends no more."""

from __future__ import annotations

import struct

from root.loop import READ, WRITE
from shared.lean_modules import socket
from shared.protocol import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.connection import Channel
    from root.loop import Loop

_CHUNK = LIMITS['chunkBytes']
_RESET = struct.pack('ii', 1, 0)


class Tunnel:
    def __init__(self, accepted: socket.socket, loop: Loop, deadline: float) -> None:
        self.deadline = deadline
        """The active time until which it waits for a worker."""
        self._socket = accepted
        self._loop = loop
        self._fd = accepted.fileno()
        self._mask = 0
        # Both are given by `open`.
        self._channel: Channel
        self._on_closed: Callable[[Tunnel], object]
        self._buffer = bytearray()
        self._guest_done = False
        self._remote_done = False
        self.answered = False
        self.touched = loop.active
        accepted.setblocking(False)

    def refuse(self, text: bytes) -> None:
        """Answers as a proxy does, and closes."""
        head = f'HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n'
        try:
            # If it were closed with unread data, the connection would be reset and the answer lost.
            self._socket.recv(_CHUNK)
            self._socket.send(head.encode() + text)
        except OSError:
            pass
        self._socket.close()

    def open(self, channel: Channel, on_closed: Callable[[Tunnel], object]) -> None:
        self._channel = channel
        self._on_closed = on_closed
        channel.handler = self
        channel.reply({'accepted': 0})
        self._listen()

    def on_data(self, data: bytes) -> None:
        if self._remote_done:
            return
        self.touched = self._loop.active
        self.answered = True
        if data:
            self._buffer += data
        else:
            self._remote_done = True
        self._write()

    def on_credit(self) -> None:
        self._listen()

    def on_close(self) -> None:
        """The worker has closed it or has ended: the guest must not consider its data complete."""
        self._close(reset=True)

    def _on_ready(self, mask: int) -> None:
        if mask & WRITE:
            self._write()
        if mask & ~WRITE and self._fd >= 0:
            self._read()

    def _read(self) -> None:
        size = min(_CHUNK, self._channel.writable)
        if size > 0 and not self._guest_done:
            try:
                data = self._socket.recv(size)
            except BlockingIOError:
                return
            except OSError as error:
                self._break(error)
                return
            self.touched = self._loop.active
            self._guest_done = not data
            self._channel.data(data)
        self._go_on()

    def _write(self) -> None:
        try:
            while self._buffer:
                sent = self._socket.send(self._buffer)
                del self._buffer[:sent]
                self._channel.grant(sent)
            if self._remote_done:
                self._socket.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError as error:
            self._break(error)
            return
        self._go_on()

    def _go_on(self) -> None:
        if self._guest_done and self._remote_done and not self._buffer:
            channel = self._channel
            self._close(reset=False)
            channel.end({})
        else:
            self._listen()

    def _listen(self) -> None:
        """Without an event to wait for, the descriptor is removed from the loop: a hang-up would be reported repeatedly."""
        if self._fd < 0:
            return
        reads = not self._guest_done and self._channel.writable > 0
        mask = (READ if reads else 0) | (WRITE if self._buffer else 0)
        if mask == self._mask:
            return
        if not self._mask:
            self._loop.add(self._fd, mask, self._on_ready)
        elif not mask:
            self._loop.remove(self._fd)
        else:
            self._loop.change(self._fd, mask)
        self._mask = mask

    def drop(self) -> None:
        """Makes room for another."""
        self._fail('the sandbox has too many connections, and this one was silent for the longest time')

    def _break(self, error: OSError) -> None:
        self._fail(f'the guest broke the connection: {error.strerror}')

    def _fail(self, problem: str) -> None:
        channel = self._channel
        self._close(reset=True)
        channel.fail('INTERNAL', problem)

    def _close(self, reset: bool) -> None:
        if self._fd < 0:
            return
        if self._mask:
            self._loop.remove(self._fd)
        self._fd = -1
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()
        self._buffer.clear()
        self._on_closed(self)
