"""A server as guests write them, and as they should not: each path answers in its own way. The port is its argument."""

import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading


def answer(body, *fields, status='200 OK'):
    head = [f'HTTP/1.1 {status}', *fields, f'Content-Length: {len(body)}', '', '']
    return '\r\n'.join(head).encode() + body


def read_head(file):
    lines = []
    while True:
        line = file.readline()
        if line in (b'\r\n', b''):
            return lines
        lines.append(line.decode('latin-1').rstrip('\r\n'))


def read_body(file, headers):
    if headers.get('transfer-encoding') != 'chunked':
        return file.read(int(headers.get('content-length', 0)))
    body = b''
    while True:
        size = int(file.readline(), 16)
        body += file.read(size)
        file.readline()
        if size == 0:
            return body


def endless(connection, data):
    while True:
        connection.sendall(data)


def websocket(connection, file, path, headers):
    key = headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    connection.sendall(f'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n'.encode())
    if path == '/endless':
        endless(connection, b'\x82\x7e\x20\x00' + bytes(8192))
    while True:
        first, second = file.read(2)
        size = second & 127
        if size == 126:
            (size,) = struct.unpack('>H', file.read(2))
        mask = file.read(4)
        data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(file.read(size)))
        if first & 15 == 8:
            connection.sendall(b'\x88\x00')
            return
        head = bytes([first, size]) if size < 126 else bytes([first, 126]) + struct.pack('>H', size)
        connection.sendall(head + data)


def serve(connection):
    file = connection.makefile('rb')
    lines = read_head(file)
    method, path, _ = lines[0].split(' ')
    headers = {name.lower(): value.strip() for name, value in (line.split(':', 1) for line in lines[1:])}
    if headers.get('upgrade') == 'websocket' and path in ('/socket', '/endless'):
        websocket(connection, file, path, headers)
    elif path == '/endless':
        connection.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
        endless(connection, bytes(65536))
    elif path == '/garbage':
        connection.sendall(b'\x00\xffAhoy\n\n')
    elif path == '/smuggled':
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
    elif path == '/long-head':
        connection.sendall(b'HTTP/1.1 200 OK\r\n')
        while True:
            connection.sendall(b'X-More: ' + b'x' * 1000 + b'\r\n')
    elif path == '/no-answer':
        pass
    elif path == '/half':
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhalf')
    elif path == '/killed':
        connection.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n')
        read_body(file, headers)
        os._exit(1)
    elif path == '/two':
        connection.sendall(answer(b'one') + answer(b'two', 'X-Second: yes'))
    elif path == '/cookies':
        fields = ['Set-Cookie: sid=1; Path=/app; Domain=example.org; HttpOnly', 'Set-Cookie: nameless', 'Set-Cookie: __Host-other=2; Secure; Path=/']
        connection.sendall(answer(b'set', *fields))
    elif path == '/headers-of-guest':
        bad = ['Clear-Site-Data: "*"', 'Alt-Svc: h3=":1"', 'X-Accel-Redirect: /etc/passwd', 'Strict-Transport-Security: max-age=1', 'Connection: X-Hop']
        connection.sendall(answer(b'', *bad, 'X-Hop: 1', 'X-Own: 1', 'X-Own: 2', "Content-Security-Policy: default-src 'self'", 'WWW-Authenticate: Basic'))
    elif path == '/redirect':
        connection.sendall(answer(b'', f'Location: http://localhost:{sys.argv[1]}/there?x=1', status='302 Found'))
    else:
        body = read_body(file, headers)
        told = {'method': method, 'path': path, 'headers': headers, 'size': len(body), 'sha': hashlib.sha256(body).hexdigest()}
        connection.sendall(answer(json.dumps(told).encode(), 'Content-Type: application/json'))
    connection.shutdown(socket.SHUT_WR)
    connection.close()


listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=128)
print('ready', flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
