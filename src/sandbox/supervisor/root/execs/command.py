"""What a request asks to be run: its program and arguments, what makes two requests the same command, and how a command is shown."""

from __future__ import annotations

import os

from shared.lean_json import dumps
from shared.protocol import Refused, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256

    from root.methods import Desk
    from shared.shapes import Environment, Fields
else:
    try:
        from _sha256 import sha256
    except ImportError:
        try:  # its name since Python 3.12
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256

_SHOWN = 1000
_GUEST = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(os.fsencode(__file__))))), b'guest')
_LIBRARY = os.path.join(_GUEST, b'library')
_PROGRAMS = {
    'terminal': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'terminal.py')),
    'python': (b'/usr/bin/env', b'python3', os.path.join(_GUEST, b'interpreter.py')),
    'javascript': (b'/usr/bin/env', b'node', b'--no-warnings', os.path.join(_GUEST, b'interpreter.cjs')),
    'call': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'interpreter_call.py')),
    'mcp': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'mcp_server.py')),
    # What the code of a tool prints goes to stderr: stdout is for what it tells the worker.
    'tool': (b'/bin/sh', b'-c', b'exec node --no-warnings "$0" 3>&1 1>&2', os.path.join(_LIBRARY, b'run_tool.cjs')),
}
"""Programs of ours that run as the guest."""


def check(fields: Fields) -> None:
    if ('command' in fields) == ('argv' in fields or 'program' in fields):
        raise Refused('INVALID_ARGUMENT', 'either command or argv has to be given')
    if fields.get('program') == 'mcp-call' and not fields.get('argv'):
        raise Refused('INVALID_ARGUMENT', 'a request to a server needs its name')


def argv_of(fields: Fields) -> list[bytes]:
    if 'command' in fields:
        return [b'/bin/bash', b'-c', to_bytes(fields['command'])]
    return [*_PROGRAMS.get(fields.get('program', ''), ()), *(to_bytes(item) for item in fields.get('argv', ()))]


def tools_environment(socket: str, desk: Desk) -> Environment:
    """What code needs to call tools."""
    return {
        b'LONGSHORE_TOOLS': os.fsencode(socket),
        b'LONGSHORE_TOOLS_TOKEN': desk.token.encode(),
        b'LONGSHORE_GUEST': _LIBRARY,
        b'PYTHONPATH': _LIBRARY,
    }


def fingerprint(fields: Fields) -> str:
    """What makes two starts the same command. Values of the environment are in it and cannot be read from it."""
    told = [fields.get('command'), fields.get('argv'), fields['cwd'], sorted(fields['env'].items()), fields['stdin']]
    # Only what is given, so that commands of earlier versions keep theirs.
    told += [fields[name] for name in ('program', 'user') if name in fields]
    return sha256(dumps(told).encode()).hexdigest()


def shown(fields: Fields) -> str:
    command: str | None = fields.get('command')
    if command is not None:
        return command[:_SHOWN]
    return ' '.join([*([fields['program']] if 'program' in fields else []), *fields.get('argv', ())])[:_SHOWN]
