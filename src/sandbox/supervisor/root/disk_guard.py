"""Keeps the sandbox's files within their limit where the storage does not: it watches the storage, and ends what continues to write."""

from __future__ import annotations

import os
import select
import struct

from root.execs import processes, runner
from root.loop import READ
from shared.lean_modules import signal
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from as_guest import disk_usage
    from root.disk_writers import Writers
    from root.execs.nursery import Nursery
    from root.execs.users import User
    from root.loop import Loop
    from shared.shapes import Pair

# Seconds between two cheap checks of the storage; shorter when there is less room.
_SHORTEST, _LONGEST = 0.1, 1.0
_BYTES_PER_SECOND = 2 << 30
_INODES_PER_SECOND = 200_000
# Files are counted anew at least so often while something runs, since others may make the room that this one takes; never for more than a
# tenth of the time.
_AT_LEAST = 10.0
_REST = 9
# Growth of the storage below this is ignored: other sandboxes use the same storage.
_LEAST = 8 << 20, 4096
# What an overfull sandbox may still grow, by directories for one, before its commands are ended again.
_SLACK = 4 << 20, 1024
_BYTES_PER_INODE = 32_768
_FEWEST_INODES = 65_536
# Seconds for a system call to end, and counts of what is held still, before the count has failed.
_STOPPING = 2.0
_COUNTS = 3
# Seconds for a count for which a command waits.
_PATIENCE = 5.0
_COUNTED = struct.Struct('=QQ??')


class DiskGuard:
    def __init__(self, loop: Loop, work: Writers, journal: str, checkpoints: str, users: Sequence[User], nursery: Nursery) -> None:
        """`work` is what may write: it has `busy`, and can be stopped, continued and ended."""
        self.limit = 0
        """Bytes; 0 means no limit."""
        self.is_over = False
        self._loop = loop
        self._work = work
        self._nursery = nursery
        self._roots = [*(user.home for user in users), os.fsencode(journal), os.fsencode(checkpoints)]
        self._users = [user.ids for user in users]
        self._due = 0.0
        self._counted_at: float | None = None
        self._free: Pair | None = None
        self._used: Pair = (0, 0)
        # Growth of the storage that the counted files do not explain, while something was found that may keep others.
        self._hidden: Pair = (0, 0)
        self._grown: Pair = (0, 0)
        self._allowed: Pair | None = None
        self._stale = False
        self._began = self._rested = self._hold_at = 0.0
        self._pid = 0
        self._pipe = -1
        self._held: list[int] | None = None

    def due(self) -> float | None:
        return self._due if self.limit and self._held is None and (self._stale or self._work.busy) else None

    def largest_file(self) -> int | None:
        """The largest file of a command that starts now, in bytes; None where the container's own limit is enough. Without room it can still make some."""
        self.refresh()
        return 0 if self.is_over else None

    def refuse_if_over(self) -> None:
        self.refresh()
        self._stale = True
        if self.is_over:
            raise Refused(
                'FILE_FAILED', f'the files of the sandbox take up more than the {self.limit >> 20} MB or {self._limits()[1]} files that they may; remove some'
            )

    def on_time(self, now: float) -> None:
        due = self.due()
        if due is None or now < due:
            return
        self._stale = self._work.busy
        grown = self._growth()
        room = self._room()
        self._due = now + max(_SHORTEST, min(_LONGEST, (room[0] - grown[0]) / _BYTES_PER_SECOND, (room[1] - grown[1]) / _INODES_PER_SECOND))
        # All of the storage's growth may be this sandbox's: when it could have filled its room, nothing is written until its files are counted.
        if now >= self._hold_at and any(each >= max(most, least) for each, most, least in zip(grown, room, _LEAST)):
            self._drop_count()
            self._held = self._work.hold_still()
            self._count(now)
        elif self._pipe < 0 and now >= self._rested and (self._counted_at is None or now - self._counted_at >= _AT_LEAST or self._is_half(grown, room)):
            self._count(now)

    def refresh(self) -> None:
        """Checks at once whether an overfull sandbox still is. Waits for the result, which decides about the command that starts now."""
        if self.is_over and self.limit and self._held is None:
            self._drop_count()
            self._count(self._loop.now())
            if self._pipe >= 0:
                # A guest may stop what counts with its real id. Then it has failed, and is repeated while the guest is held still.
                if not select.select([self._pipe], [], [], _PATIENCE)[0]:
                    os.kill(self._pid, signal.SIGKILL)
                self._on_counted()

    def _limits(self) -> Pair:
        return self.limit, max(_FEWEST_INODES, self.limit // _BYTES_PER_INODE)

    def _room(self) -> Pair:
        if self.is_over:
            return _SLACK
        return tuple(max(1, most - used) for most, used in zip(self._limits(), self._used))

    def _is_half(self, grown: Pair, room: Pair) -> bool:
        return any(2 * each >= max(most, least) for each, most, least in zip(grown, room, _LEAST))

    def _growth(self) -> Pair:
        """Bytes and inodes by which the storage has grown since the count. Room that was made meanwhile is taken off: what follows is new."""
        free = _free(self._roots[0])
        if self._free is None:
            self._free = free
        self._free = tuple(max(before, now) for before, now in zip(self._free, free))
        return tuple(before - now for before, now in zip(self._free, free))

    def _count(self, now: float) -> None:
        self._grown = self._growth()
        self._free = _free(self._roots[0])
        self._began = now
        ours: tuple[int, ...] = ()
        try:
            # Not at the top, because the start of a sandbox would take longer. Before the fork, so that its children have it.
            import as_guest.disk_usage  # noqa: F401

            ours = read, write = os.pipe()
            self._pid = os.fork()
        except OSError:
            # No room for another process or file.
            for fd in ours:
                os.close(fd)
            self._judge((0, 0), False)
            return
        if self._pid == 0:
            try:
                runner.reset_signals()
                runner.offer_to_out_of_memory_killer()
                # Descriptors of runners wait in its socket, where those of a guest could hide files.
                self._nursery.leave()
                count = self._count_all()
                os.write(write, _COUNTED.pack(count.used, count.inodes, count.complete, count.hidden))
            finally:
                os._exit(0)
        os.close(write)
        self._pipe = read
        self._loop.add(read, READ, lambda mask: self._on_counted())

    def _count_all(self) -> disk_usage.Count:
        """Counts again what was disturbed although the guest is held still: by the supervisor itself, or by a system call that had not ended."""
        if self._held is None:
            return self._count_once()
        processes.wait_until_still(self._held, _STOPPING)
        for _ in range(_COUNTS):
            count = self._count_once()
            if count.complete:
                break
        return count

    def _count_once(self) -> disk_usage.Count:
        """Stops as soon as the limit is exceeded. The exact size matters only when the sandbox was over the limit before: it must not grow."""
        from as_guest import disk_usage

        count = disk_usage.Count(None if self.is_over else self._limits(), self._users)
        count.add(self._roots)
        if not os.statvfs('/').f_flag & os.ST_RDONLY:
            count.add_layer(os.stat('/.dockerenv').st_ctime)
        return count

    def _on_counted(self) -> None:
        data = os.read(self._pipe, _COUNTED.size)
        self._end_count()
        now = self._loop.now()
        self._counted_at = now
        self._rested = now + _REST * (now - self._began)
        self._hold_at = now + now - self._began
        bytes_, inodes, complete, hidden = _COUNTED.unpack(data) if len(data) == _COUNTED.size else (0, 0, False, False)
        unseen = tuple(max(0, grown - max(0, now - before)) for grown, now, before in zip(self._grown, (bytes_, inodes), self._used))
        # Other sandboxes use the same storage, so only large growth means something.
        self._hidden = tuple(before + more for before, more in zip(self._hidden, unseen)) if hidden else (0, 0)
        self._judge((bytes_, inodes), complete)

    def _judge(self, used: Pair, complete: bool) -> None:
        """A count that fails while nothing can disturb it, for example without memory, counts as over the limit: a guest could break the count on purpose."""
        held, self._held = self._held, None
        if not complete and held is None:
            self._held = self._work.hold_still()
            self._count(self._loop.now())
            return
        hides = _any_above(self._hidden, self._limits())
        exceeds = not complete or hides or _any_above(used, self._limits())
        if exceeds and (hides or not complete or not self.is_over or (self._allowed is not None and _any_above(used, self._allowed))):
            self._work.end(held is not None)
        elif held is not None:
            self._work.go_on()
        # More than what was found first may be over the limit.
        self._allowed = tuple(each + slack for each, slack in zip(used, _SLACK)) if exceeds and self.is_over else None
        self.is_over = exceeds and not hides
        self._hidden = (0, 0) if hides else self._hidden
        self._used = used

    def _drop_count(self) -> None:
        if self._pipe >= 0:
            self._end_count()

    def _end_count(self) -> None:
        self._loop.remove(self._pipe)
        os.close(self._pipe)
        self._pipe = -1
        # Also after its result, since it may have been stopped right then.
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _any_above(used: Pair, most: Pair) -> bool:
    return any(each > limit for each, limit in zip(used, most))


def _free(path: bytes) -> Pair:
    found = os.statvfs(path)
    return found.f_bfree * found.f_frsize, found.f_ffree
