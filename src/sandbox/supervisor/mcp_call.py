"""Brings one request to an MCP server of the sandbox and passes on what it is told (see mcp_server.py). Runs as the guest; argument: the name of the
server. The request is a line on stdin. To be ended means to cancel the request: the server sees its client go."""

import json
import os
import socket
import sys
import time

_COMES_UP = 30.0


def main(path):
    # Whoever was cut off while it gave the request gives it again: the first line that is whole counts.
    request = next((line for line in sys.stdin.buffer if _is_whole(line)), None)
    if request is None:
        return
    connection = _connect(path)
    if connection is None:
        return _tell('failed', 'it did not come up')
    made = ended = False
    rest = b''
    try:
        connection.sendall(request)
        while not ended and (data := connection.recv(65536)):
            rest += data
            end = rest.rfind(b'\n') + 1
            for line in rest[:end].splitlines():
                kind = json.loads(line)['type']
                made = made or kind == 'made'
                ended = kind not in ('restarted', 'made', 'progress')
            _write_all(rest[:end])
            rest = rest[end:]
    except (ConnectionResetError, BrokenPipeError):
        pass
    if not ended:
        _tell('gone' if made else 'failed', 'its keeper was ended')


def _is_whole(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _connect(path):
    limit = time.monotonic() + _COMES_UP
    while time.monotonic() < limit:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.02)
    return None


def _tell(kind, why):
    _write_all(json.dumps({'type': kind, 'why': why}).encode() + b'\n')


def _write_all(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


main(os.path.join(os.environ.get('LONGSHORE_CODE') or f'/tmp/.longshore-code-{os.getuid()}', f'mcp-{sys.argv[1]}.sock'))
