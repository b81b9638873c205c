import { IncomingMessage, type IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { keyInProtocol } from '../../../src/api/auth/key-in-protocol.ts';
import { headersForGuest, headersOfGuest } from '../../../src/api/ports/guest-headers.ts';
import { pathPlace } from '../../../src/api/ports/place.ts';

const place = pathPlace('/v1/conversations/conv_1/ports/3000', { isSecure: true, isSecret: false });

/** The protocols that a guest is offered by a request with these, after the service has read it. */
function offered(protocols: string): unknown {
  const headers: IncomingHttpHeaders = { 'sec-websocket-protocol': protocols };
  const request = Object.assign(new IncomingMessage(new Socket()), { headers, rawHeaders: ['Sec-WebSocket-Protocol', protocols] });
  keyInProtocol(request);
  const passed = headersForGuest(request, 3000, place);
  expect(passed).not.toHaveProperty('authorization');
  return passed['sec-websocket-protocol'];
}

test('a key that a page sends as the name of a protocol does not reach the guest', () => {
  expect(offered('longshore.terminal, bearer.ls_secret')).toBeUndefined();
  expect(offered('chat, bearer.ls_secret,longshore.terminal')).toBe('chat');
});

test('protocols of the guest pass as they are', () => {
  expect(offered('chat.v2, chat.v1')).toBe('chat.v2, chat.v1');
  expect(offered('bearer.of-the-guest')).toBe('bearer.of-the-guest');
});

test('an answer without content says no length of one: a proxy could take what follows for it', () => {
  const answered = (statusCode: number) => {
    const rawHeaders = ['Content-Length', '5'];
    const answer = Object.assign(new IncomingMessage(new Socket()), { statusCode, headers: { 'content-length': '5' }, rawHeaders });
    return headersOfGuest(answer, 3000, place)['content-length'];
  };
  expect([answered(200), answered(204)]).toEqual(['5', undefined]);
});

test('a guest does not speak for the service', () => {
  const rawHeaders = ['X-Longshore-Error', 'UNAUTHENTICATED', 'X-Own', 'yes'];
  const answer = Object.assign(new IncomingMessage(new Socket()), { statusCode: 401, headers: {}, rawHeaders });
  const headers = Object.fromEntries(Object.entries(headersOfGuest(answer, 3000, place)).map(([name, value]) => [name.toLowerCase(), value]));
  expect(headers).toHaveProperty('x-own');
  expect(headers).not.toHaveProperty('x-longshore-error');
});
