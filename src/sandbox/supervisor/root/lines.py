"""Sends prepared content at the pace of its reader."""

from __future__ import annotations

from shared.protocol import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.connection import Channel


class Lines:
    """Sends prepared bytes at the reader's pace, then ends the operation."""

    def __init__(self, channel: Channel, data: bytes) -> None:
        self._channel = channel
        self._data = data
        self._position = 0
        channel.handler = self

    def on_credit(self) -> None:
        while self._position < len(self._data):
            size = min(LIMITS['chunkBytes'], self._channel.writable)
            if size <= 0:
                return
            self._channel.data(self._data[self._position : self._position + size])
            self._position += size
        self._channel.end({})

    def on_close(self) -> None:
        self._data = b''
