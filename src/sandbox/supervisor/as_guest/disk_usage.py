"""Counts what the guest's files take up, as its users: each inode once, whatever its names, and those too that lost their name and are still open."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from shared.shapes import Ids, Pair

    _Directory = tuple[bytes, int, int]
    _Level = tuple[tuple[int, int], Optional[int], list[_Directory]]

_RWX = stat.S_IRWXU
# Further names of one inode use no inode, but time.
_NAMES_PER_INODE = 4
_LONGEST_PATH = 4000
# Of all threads of a process, which takes about a tenth of a second.
_DESCRIPTORS = 20_000


class Enough(Exception):
    """The limit is exceeded."""


class Count:
    """`most`: bytes and inodes beyond which it stops, or None. `users` are (uid, gid). Root has no rights over their files: a directory that is
    closed to one user is counted by the next. Depth has no limit, since the walk opens each directory relative to its parent."""

    def __init__(self, most: Pair | None, users: Sequence[Ids]) -> None:
        self.used = 0
        self._inodes = 0
        self.complete = True
        self.hidden = False
        """Whether something was found that may keep a file without a name, of any size."""
        self._names = 0
        self._most = most
        self._users = users
        self._seen: set[int] = set()
        # Open files whose descriptors say that they are deleted, while their number of names does not: gVisor keeps that as it was. Those that the walk
        # meets have another name.
        self._doubtful: dict[int, os.stat_result] = {}
        self._mapped: set[int] = set()
        self._refused = False
        self._since: float | None = None

    @property
    def inodes(self) -> int:
        """Names count too, with a part: they take space and time."""
        return max(self._inodes, self._names // _NAMES_PER_INODE)

    def add(self, roots: Sequence[bytes]) -> None:
        """Counts what is below these directories, without other mounts."""
        self._doubtful, self._mapped, self._refused = {}, set(), False
        try:
            for user in self._users:
                _act_as(user)
                device = os.stat(roots[0]).st_dev
                self._nameless(device)
                if self._refused:
                    # gVisor asks for the real ids before it shows what a process has open.
                    _be(user)
                    self._nameless(device)
            held = set(self._doubtful)
            waiting = roots
            for user in self._users:
                _act_as(user)
                waiting = self._closed_below(waiting, user)
            for status in self._doubtful.values():
                self._add(status)
            self.hidden = self.hidden or not self._mapped <= self._seen | held
        except Enough:
            pass
        except OSError:
            self.complete = False

    def add_layer(self, since: float) -> None:
        """Of the container's own layer, counts only what has changed since its start: the rest belongs to the image."""
        self._since = since
        self.add([b'/'])

    def _closed_below(self, roots: Sequence[bytes], user: Ids) -> list[bytes]:
        """Returns the directories that are closed to the user."""
        closed = []
        for root in roots:
            try:
                os.chdir(root)
            except PermissionError:
                closed.append(root)
                continue
            except FileNotFoundError:
                continue
            self._walk(root, user, closed)
        return closed

    def _walk(self, root: bytes, user: Ids, closed: list[bytes]) -> None:
        own = os.stat('.')
        path = [root]
        levels: list[_Level] = [(_identity(own), None, self._list('.', own.st_dev))]
        try:
            while levels:
                if levels[-1][2]:
                    self._enter(path, levels, user, own.st_dev, closed)
                else:
                    self._leave(path, levels)
        finally:
            # Directories that were opened for the count are closed again, also after an error or when the limit is exceeded.
            while levels:
                self._leave(path, levels)

    def _enter(self, path: list[bytes], levels: list[_Level], user: Ids, device: int, closed: list[bytes]) -> None:
        name, mode, uid = levels[-1][2].pop()
        restore = None
        try:
            # A user may have removed its own rights to a directory. The count restores them for its duration, so that nothing is hidden.
            if mode & _RWX != _RWX and uid == user[0]:
                os.chmod(name, mode | _RWX)
                restore = mode
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except PermissionError:
            whole = b'/'.join([*path, name])
            if len(whole) > _LONGEST_PATH:
                self.complete = False
            closed.append(whole[:_LONGEST_PATH])
            return
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            os.fchdir(fd)
            path.append(name)
            levels.append((_identity(os.fstat(fd)), restore, []))
            levels[-1][2].extend(self._list(fd, device))
        finally:
            os.close(fd)

    def _leave(self, path: list[bytes], levels: list[_Level]) -> None:
        _, restore, _ = levels.pop()
        name = path.pop()
        if not levels:
            return
        os.chdir('..')
        if _identity(os.stat('.')) != levels[-1][0]:
            # It was moved meanwhile, which is possible only while the guest is not stopped.
            raise OSError('moved')
        if restore is not None:
            os.chmod(name, restore)

    def _list(self, directory: str | int, device: int) -> list[_Directory]:
        """Counts the entries, and returns the directories among them."""
        found = []
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if status.st_dev != device and not stat.S_ISREG(status.st_mode):
                    continue
                self._names += 1
                self._doubtful.pop(status.st_ino, None)
                self._add(status)
                if self._most is not None and (self.used > self._most[0] or self.inodes > self._most[1]):
                    raise Enough
                if stat.S_ISDIR(status.st_mode):
                    found.append((os.fsencode(entry.name), stat.S_IMODE(status.st_mode), status.st_uid))
        return found

    def _nameless(self, device: int) -> None:
        """Files without a name, found by the descriptors that keep them open. Other things that may keep one can be detected but not measured."""
        for pid in os.listdir('/proc'):
            if not pid.isdigit():
                continue
            try:
                threads = os.listdir(f'/proc/{pid}/task')
            except OSError:
                continue
            looked = 0
            # Each thread can have descriptors of its own, and those of the first are not to be seen any more when it has ended.
            for thread in threads:
                looked += self._held_by(f'/proc/{pid}/task/{thread}', device)
                if looked > _DESCRIPTORS:
                    self.hidden = True
                    break
            # They share their memory.
            if looked:
                self._mapped |= _mapped_nameless(f'/proc/{pid}/task/{threads[-1]}', device)

    def _held_by(self, thread: str, device: int) -> int:
        """Returns how much was looked at."""
        try:
            descriptors = os.listdir(f'{thread}/fd')
        except PermissionError:
            self.hidden = self.hidden or _is_of(thread, os.geteuid())
            return 0
        except OSError:
            return 0
        for held in (*(f'fd/{descriptor}' for descriptor in descriptors), 'exe'):
            try:
                found = os.stat(f'{thread}/{held}')
            except PermissionError:
                self._refused = True
                continue
            except OSError:
                continue
            if found.st_nlink == 0 and found.st_dev == device:
                self._add(found)
            elif found.st_dev == device and stat.S_ISREG(found.st_mode) and _says_deleted(f'{thread}/{held}'):
                self._doubtful[found.st_ino] = found
            elif stat.S_ISSOCK(found.st_mode):
                self.hidden = self.hidden or _has_descriptors(f'{thread}/fdinfo/{held[3:]}')
        return len(descriptors) + 1

    def _add(self, status: os.stat_result) -> None:
        if self._since is not None and status.st_ctime < self._since:
            return
        if status.st_nlink != 1 and not stat.S_ISDIR(status.st_mode):
            if status.st_ino in self._seen:
                return
            self._seen.add(status.st_ino)
        self.used += status.st_blocks * 512
        self._inodes += 1


def _is_of(thread: str, uid: int) -> bool:
    """Whether a thread that cannot be inspected belongs to that user. Those of the supervisor's own children, which only act as the user, do not; and
    an ended one, which cannot be inspected either, keeps no file open."""
    try:
        with open(f'{thread}/status', 'rb') as file:
            fields = {name: value.split() for name, _, value in (line.partition(b':') for line in file)}
    except OSError:
        return False
    return fields[b'State'][0] not in b'ZX' and fields[b'Uid'][0] == str(uid).encode() and uid != 0


def _has_descriptors(path: str) -> bool:
    """Whether descriptors wait in a socket to be received, or in a connection that waits to be accepted."""
    try:
        with open(path, 'rb') as file:
            return any(line.startswith(b'scm_fds:') and line.split()[1] != b'0' for line in file)
    except OSError:
        return False


def _says_deleted(descriptor: str) -> bool:
    try:
        return os.readlink(descriptor).endswith(' (deleted)')
    except OSError:
        return False


def _mapped_nameless(thread: str, device: int) -> set[int]:
    """Inodes of mapped files of a device that have no name any more."""
    place = b'%02x:%02x' % (os.major(device), os.minor(device))
    try:
        with open(f'{thread}/maps', 'rb') as file:
            fields = [line.split(None, 5) for line in file if line.endswith(b' (deleted)\n')]
    except OSError:
        return set()
    return {int(inode) for _, _, _, where, inode, _ in fields if where == place}


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _act_as(user: Ids) -> None:
    """The effective ids decide about access to files."""
    uid, gid = user
    if uid == os.geteuid():
        return
    os.seteuid(0)
    os.setgroups([])
    os.setegid(gid)
    os.seteuid(uid)


def _be(user: Ids) -> None:
    """The same with the real ids. A guest may end a process that has them, so that it counts again while the guest is held still. The saved ids lead back."""
    uid, gid = user
    os.seteuid(0)
    os.setresgid(gid, gid, 0)
    os.setresuid(uid, uid, 0)
