"""Keeps the sandbox's files within their limit where the storage does not: it measures, and ends the commands that go on writing."""

import os
import struct

import disk_usage
import runner
from loop import READ

_INTERVAL = 1.0
# Files are counted anew at least so often while something runs, since others may make the room that this one takes; never for more than a
# tenth of the time.
_AT_LEAST = 10.0
_REST = 9
# What an overfull sandbox may still write, for instance to make room, before its commands are ended again.
_SLACK = 64 << 20
_TOTAL = struct.Struct('=Q')


class DiskGuard:
    def __init__(self, loop, executions, journal, users):
        self.limit = 0
        """Bytes; 0 leaves the sandbox alone."""
        self._loop = loop
        self._executions = executions
        self._roots = (*(user.home for user in users), os.fsencode(journal))
        self._users = [user.ids for user in users]
        self._due = 0.0
        self._counted_at = None
        self._free = 0
        self._room = 0
        self._allowed = 0
        self._began = 0.0
        self._pipe = -1

    def due(self):
        return self._due if self.limit and self._executions.running and self._pipe < 0 else None

    def on_time(self, now):
        due = self.due()
        if due is None or now < due:
            return
        self._due = now + _INTERVAL
        free = _free_bytes(self._roots[0])
        # Whoever made room there, it may have been this sandbox, and what is written from now on is new.
        self._free = max(self._free, free)
        # All of the storage's growth may be this sandbox's: only when it could have filled its room are its files counted.
        # An overfull one is looked at all the time, so that room that was made is noticed before it is filled again.
        if self._counted_at is None or self._allowed > self.limit or self._free - free >= self._room or now - self._counted_at >= _AT_LEAST:
            self._free = free
            self._count(now)

    def _count(self, now):
        read, write = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(read)
            os.close(write)
            return
        if pid == 0:
            try:
                runner.reset_signals()
                runner.offer_to_out_of_memory_killer()
                os.write(write, _TOTAL.pack(disk_usage.total(self._roots, self._users)))
            finally:
                os._exit(0)
        os.close(write)
        self._began = now
        self._pipe = read
        self._loop.add(read, READ, lambda mask: self._on_counted(pid))

    def _on_counted(self, pid):
        data = os.read(self._pipe, _TOTAL.size)
        self._loop.remove(self._pipe)
        os.close(self._pipe)
        self._pipe = -1
        os.waitpid(pid, 0)
        now = self._loop.now()
        self._counted_at = now
        self._due = now + max(_INTERVAL, (1 if self._allowed > self.limit else _REST) * (now - self._began))
        # The counting itself was ended, out of memory for one: it is tried again.
        if len(data) == _TOTAL.size:
            self._judge(_TOTAL.unpack(data)[0])

    def _judge(self, used):
        allowed = max(self.limit, self._allowed)
        if used > allowed:
            self._executions.stop_writers()
            allowed = used + _SLACK
        # Room that was made is not given away again.
        self._allowed = max(self.limit, min(allowed, used + _SLACK))
        self._room = max(1, self._allowed - used)


def _free_bytes(path):
    found = os.statvfs(path)
    return found.f_bfree * found.f_frsize
