"""Sends an exec's output from the journal at the pace of one reader, then how it ended."""

from __future__ import annotations

import os

from root.execs.journal import preview
from shared.protocol import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.connection import Channel
    from root.execs.journal import Journal
    from shared.shapes import Fields, Source

_CHUNK = LIMITS['chunkBytes']
_FRAMES = ('data', 'errorData')


class Follower:
    """`source` has `outputs` (two descriptors), `kept` (two sizes), `exit` (the record, None while it runs), `paths`, and
    `unfollow(follower)`. It is read from the file, so a slow reader costs no memory here."""

    def __init__(self, channel: Channel, source: Source, fields: Fields) -> None:
        self._channel = channel
        self._source = source
        self._stream = fields['stream']
        self._offsets = [fields['stdoutOffset'], fields['stderrOffset']]
        self._preview_bytes = fields['previewBytes']
        self._done = False
        channel.handler = self

    def advance(self) -> None:
        """Sends what can be sent now."""
        if self._done:
            return
        if self._stream and not self._send_output():
            return
        source = self._source
        if source.exit is None:
            return
        self._done = True
        record = source.exit
        if record['status'] == 'failed':
            self._channel.fail('EXEC_FAILED', record['problem'])
        else:
            names = ('stdout', 'stderr')
            texts = {
                name: preview(source.outputs[index], record[f'{name}Kept'], record[f'{name}Bytes'], self._preview_bytes, source.paths[index])
                for index, name in enumerate(names)
            }
            self._channel.end({'exit': record, **texts})
        source.unfollow(self)

    def on_credit(self) -> None:
        self.advance()

    def on_close(self) -> None:
        self._done = True
        self._source.unfollow(self)

    def _send_output(self) -> bool:
        """True when everything has been sent."""
        for index, frame in enumerate(_FRAMES):
            available = self._source.kept[index]
            if self._source.exit is not None:
                available = self._source.exit['stdoutKept' if index == 0 else 'stderrKept']
            while self._offsets[index] < available:
                size = min(_CHUNK, self._channel.writable, available - self._offsets[index])
                if size <= 0:
                    return False
                data = os.pread(self._source.outputs[index], size, self._offsets[index])
                if not data:
                    break
                self._offsets[index] += len(data)
                self._channel.data(data, frame)
        return True


class Recorded:
    """The journal of an exec that this process does not run: ended, or lost with an earlier container."""

    def __init__(self, journal: Journal, exec_id: str, record: Fields) -> None:
        self.outputs = journal.open_outputs(exec_id)
        self.exit = record
        self.kept = [record['stdoutKept'], record['stderrKept']]
        self.paths = (journal.path(exec_id, 'stdout'), journal.path(exec_id, 'stderr'))

    def unfollow(self, follower: Follower) -> None:
        for fd in self.outputs:
            if fd >= 0:
                os.close(fd)
        self.outputs = [-1, -1]
