"""Sends one request to an MCP server of the sandbox and passes on the reports (see mcp_server.py). Runs as the guest; argument: the name of the
server. The request is a line on stdin. When this program is ended, the request is cancelled: the server sees that its client has disconnected."""

from __future__ import annotations

import json
import os
import sys

# In isolated mode, the search path lacks the directory of this program.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import guest_socket


def main(server: str) -> None:
    # A worker that was disconnected while it sent the request sends it again: the first complete line counts.
    request = next((line for line in sys.stdin.buffer if _is_whole(line)), None)
    if request is None:
        return
    connection = guest_socket.connect(f'mcp-{server}')
    if connection is None:
        _tell('failed', 'it did not start in time')
        return
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
            guest_socket.tell(rest[:end])
            rest = rest[end:]
    except (ConnectionResetError, BrokenPipeError):
        pass
    if not ended:
        guest_socket.await_end(guest_socket.peer_of(connection))
        _tell('gone' if made else 'failed', 'the program that runs it was ended')


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _tell(kind: str, why: str) -> None:
    guest_socket.tell(json.dumps({'type': kind, 'why': why}).encode() + b'\n')


main(sys.argv[1])
