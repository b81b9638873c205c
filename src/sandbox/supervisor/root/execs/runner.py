"""The small process that stands above each exec and keeps all its descendants together."""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import struct

from shared.lean_modules import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, NoReturn

    from shared.shapes import Environment, Ids

_PR_SET_CHILD_SUBREAPER = 36
_STDIN, _STATUS, _ORDER = 0, 3, 4
_libc: Any = None
_resource: Any = None
_fence: ModuleType | None = None
_BASH, _STATIC_BASH = b'/bin/bash', b'/bin/bash-static'
"""The same shell without libraries to link at every start; an image may come without it."""
_READ_SIZE = 65536

_REHEARSAL = marshal.dumps(([b'/nowhere'], b'/', {b'PATH': b'/'}, True, None, None))

ENDED = b'E'
FAILED = b'F'
ENDED_SIZE = 5
_CORE = 0x80


def prepare(contained: bool) -> None:
    """Loads what the runners of this process need: the supervisor need not wait for it."""
    global _libc, _resource, _fence
    import ctypes
    import resource

    _resource = resource
    if contained:
        from root.execs import fence

        fence.prepare()
        _fence = fence

    _libc = ctypes.CDLL(None, use_errno=True)


def run(theirs: Sequence[int], user: Ids) -> NoReturn:
    """Becomes a runner, with `theirs` as stdin, stdout, stderr, status and order; never returns. It reports the main child's end as `E`
    and a wait status, or `F` and a text when nothing was executed, and lives on until its last descendant is gone: as their subreaper
    it inherits all that are orphaned, so that none can leave the tree. The child is made ahead of the order, which it reads itself."""
    os.setsid()
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    reset_signals()
    for target, source in enumerate(move_up(theirs)):
        os.dup2(source, target, target < _STATUS)
    os.closerange(_ORDER + 1, 1 << 20)
    try:
        child = os.fork()
    except OSError as error:
        _report_failure('fork', error)
        os._exit(0)
    if child == 0:
        _obey(user)
    os.close(_ORDER)
    os.closerange(0, _STATUS)
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            os._exit(0)
        if ended is None:
            continue
        if ended.si_pid == child:
            # Before its pid vanishes: who waits for that may then ask the supervisor, which has to know of the end.
            os.write(_STATUS, ENDED + struct.pack('>i', _wait_status(ended)))
        os.waitpid(ended.si_pid, 0)


def _wait_status(ended: os.waitid_result) -> int:
    if ended.si_code == os.CLD_EXITED:
        return ended.si_status << 8
    return ended.si_status | (_CORE if ended.si_code == os.CLD_DUMPED else 0)


def move_up(fds: Sequence[int]) -> list[int]:
    """Duplicates to numbers above all that are about to be overwritten."""
    return [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in fds]


def _read_order() -> Any:
    data = b''
    while len(data) < 4 or len(data) < 4 + struct.unpack_from('>I', data)[0]:
        more = os.read(_ORDER, _READ_SIZE)
        if not more:
            # The supervisor has ended, or this runner was not needed.
            os._exit(0)
        data += more
    os.close(_ORDER)
    return marshal.loads(data[4:])


def _obey(user: Ids) -> NoReturn:
    """Waits for its order as root, where the guest cannot touch it, and executes it as the user, or as another that it names."""
    step = 'start'
    try:
        os.setsid()
        os.umask(0o022)
        offer_to_out_of_memory_killer()
        _rehearse()
        argv, cwd, env, open_stdin, other, most = _read_order()
        if not open_stdin:
            # Not the empty pipe: some programs, such as ripgrep, read a pipe instead of files.
            os.dup2(os.open('/dev/null', os.O_RDONLY), _STDIN)
        become(other or user)
        if most is not None:
            limit_files(most)
        if _fence is not None:
            _fence.enter()
        step = f'enter {os.fsdecode(cwd)}'
        os.chdir(cwd)
        step = f'execute {os.fsdecode(argv[0])[:200]}'
        _execute_found(argv, env)
    except OSError as error:
        _report_failure(step, error)
    os._exit(127)


def _rehearse() -> None:
    """A rehearsal of an order, without effect: the pages that it touches are copied from the parent now, and not while a caller waits."""
    argv, cwd, env, *_ = marshal.loads(_REHEARSAL)
    os.close(os.open('/dev/null', os.O_RDONLY))
    os.chdir(cwd)
    try:
        _execute_found(argv, env)
    except OSError:
        pass


def _execute_found(argv: list[bytes], env: Environment) -> NoReturn:
    """As os.execvpe, which loads a module first: the guest may not be able to, and it takes time."""
    program = argv[0]
    if program == _BASH:
        try:
            os.execve(_STATIC_BASH, argv, env)
        except OSError:
            pass
    if b'/' in program:
        os.execve(program, argv, env)
    problem: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for directory in env.get(b'PATH', b'').split(b':'):
        try:
            os.execve(os.path.join(directory, program), argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = error
    raise problem


def _report_failure(step: str, error: OSError) -> None:
    text = f'cannot {step}: {error.strerror}'.encode('utf-8', 'replace')[:4000]
    os.write(_STATUS, FAILED + struct.pack('>H', len(text)) + text)


def reset_signals() -> None:
    """Ignored signals are inherited by what is executed, and the interpreter ignores some."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def limit_files(most: int) -> None:
    """Nothing larger is written from now on, by none of its children either."""
    _resource.setrlimit(_resource.RLIMIT_FSIZE, (most, most))


def offer_to_out_of_memory_killer() -> None:
    """Out of memory, the kernel should take a command, never the supervisor."""
    try:
        fd = os.open('/proc/self/oom_score_adj', os.O_WRONLY)
        os.write(fd, b'500')
        os.close(fd)
    except OSError:
        pass


def become(user: Ids) -> None:
    """Gives up root for good; `user` is (uid, gid). Outside a container it may be the current user already."""
    uid, gid = user
    if uid == os.geteuid():
        return
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
