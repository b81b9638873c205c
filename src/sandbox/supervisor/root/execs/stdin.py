"""The writing end of an exec's stdin: bytes from several clients, in order, at the pace of the command."""

from __future__ import annotations

import os

from root.loop import WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.connection import Channel
    from root.loop import Loop
    from shared.shapes import Fields

_REMEMBERED = 64


class Stdin:
    def __init__(self, loop: Loop) -> None:
        self._fd = -1
        self._end: Callable[[int], object] = os.close
        self._is_ready = False
        self._loop = loop
        self._waiting: list[_Input] = []
        self._listening = False
        self._accepted: dict[str, int] = {}

    def write_to(self, fd: int, end: Callable[[int], object] = os.close) -> None:
        """Input that has come before has waited for this. `end` closes it."""
        self._fd = fd
        self._end = end
        self._is_ready = True
        self.advance()

    def add(self, channel: Channel, fields: Fields) -> None:
        """Receives one input. The same `inputId` again (after a lost connection) continues where the first was cut."""
        for earlier in tuple(self._waiting):
            if earlier.id == fields['inputId']:
                earlier.on_close()
        entry = _Input(self, channel, fields, self._accepted.get(fields['inputId'], 0))
        channel.handler = entry
        # The sender has no more to send, so it does not wait for this answer.
        (channel.reply_later if entry.end else channel.reply)({'accepted': entry.accepted})
        self._waiting.append(entry)
        self.advance()

    def advance(self) -> None:
        """Writes as much as the pipe accepts now."""
        while self._waiting and self._is_ready:
            entry = self._waiting[0]
            if self._fd >= 0 and entry.buffer and not self._write(entry):
                break
            if entry.accepted < entry.size and self._fd >= 0:
                break
            self._waiting.pop(0)
            if entry.end:
                self._close_pipe()
                entry.channel.end_later({})
            else:
                entry.channel.end({})
        self._listen(bool(self._waiting and self._waiting[0].buffer))

    def drop(self, entry: _Input) -> None:
        if entry in self._waiting:
            self._waiting.remove(entry)
            self.advance()

    def close(self) -> None:
        """The command has ended: no process reads any more, and waiting inputs are answered."""
        self._is_ready = True
        self._close_pipe()
        self.advance()

    def _write(self, entry: _Input) -> bool:
        try:
            written = os.write(self._fd, entry.buffer)
        except BlockingIOError:
            return False
        except OSError:
            # The command closed its stdin, as `head` does; the rest has no reader.
            self._close_pipe()
            return True
        del entry.buffer[:written]
        entry.accepted += written
        self._accepted[entry.id] = entry.accepted
        if len(self._accepted) > _REMEMBERED:
            del self._accepted[next(iter(self._accepted))]
        entry.channel.grant(written)
        return not entry.buffer

    def _close_pipe(self) -> None:
        if self._fd >= 0:
            self._listen(False)
            self._end(self._fd)
            self._fd = -1

    def _listen(self, wanted: bool) -> None:
        if self._fd < 0 or wanted == self._listening:
            return
        self._listening = wanted
        if wanted:
            self._loop.add(self._fd, WRITE, lambda mask: self.advance())
        else:
            self._loop.remove(self._fd)


class _Input:
    __slots__ = ('_stdin', 'accepted', 'buffer', 'channel', 'end', 'id', 'size')

    def __init__(self, stdin: Stdin, channel: Channel, fields: Fields, accepted: int) -> None:
        self._stdin = stdin
        self.channel = channel
        self.id = fields['inputId']
        self.size = fields['size']
        self.end = fields['end']
        self.accepted = accepted
        self.buffer = bytearray()

    def on_data(self, data: bytes) -> None:
        if self.accepted + len(self.buffer) + len(data) > self.size:
            self._stdin.drop(self)
            self.channel.fail('INVALID_ARGUMENT', 'more bytes than announced')
            return
        self.buffer += data
        self._stdin.advance()

    def on_credit(self) -> None:
        pass

    def on_close(self) -> None:
        self._stdin.drop(self)
