"""The supervisor: starts, journals and ends the commands of one sandbox. Runs as root in the container; guest code has another uid.

The folder of each other file says with whose rights it runs:
  root/       as root
  as_guest/   in a child of root that acts as the guest: rights over files are the guest's, and the guest cannot signal it
  guest/      as the guest: programs of ours, and in library/ what the guest's own code loads
  shared/     in both of the first two
This one stays at the top, since images name it as their command.

Options, each with a value: --socket, --journal, --methods, --home, --uid, --gid; and where it runs without a container: --home-name (a path that stands
for the home in requests) and --environment (JSON, of all commands)."""

from __future__ import annotations

import gc
import os
import stat
import sys

# Isolated mode leaves out the program's own directory.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

_DEFAULTS = {
    '--socket': '/run/longshore/supervisor.sock',
    '--methods': '/run/longshore-tools/tools.sock',
    '--journal': '/home/.longshore/execs',
    '--home': '/home/user',
    '--uid': '1000',
    '--gid': '1000',
    '--home-name': '',
    '--environment': '{}',
}


def main(arguments: list[str]) -> None:
    # What is loaded now stays in use: there is no garbage during the start.
    gc.disable()
    options = _parse(arguments)
    user = (int(options['--uid']), int(options['--gid']))
    stream = _take_stream()
    from root.execs.nursery import Nursery

    # Its process is forked while this one is still small; the rest is loaded after that.
    nursery = Nursery(user, contained=not options['--home-name'])
    from root.service import Supervisor

    Supervisor(options, user, nursery, stream).serve()


def _take_stream() -> tuple[int, int] | None:
    """A worker that attached to the container before its start uses stdin and stdout for the protocol. Both get other descriptors, which no child has."""
    from root.wide_pipes import widen

    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        return None
    stream = os.dup(0), os.dup(1)
    for fd in stream:
        widen(fd)
    nothing = os.open('/dev/null', os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return stream


def _parse(arguments: list[str]) -> dict[str, str]:
    options = dict(_DEFAULTS)
    pairs = list(zip(arguments[::2], arguments[1::2]))
    if len(arguments) % 2 or any(name not in options for name, _ in pairs):
        sys.exit(f'usage: supervisor.py {" ".join(f"[{name} VALUE]" for name in options)}')
    options.update(pairs)
    return options


if __name__ == '__main__':
    main(sys.argv[1:])
