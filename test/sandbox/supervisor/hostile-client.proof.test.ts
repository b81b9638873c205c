import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { encodeFrame, FrameReader, FRAMES, LIMITS, type Frame } from '../../../src/sandbox/protocol/frames.ts';
import { LocalSupervisor, until } from './local-supervisor.ts';

let supervisor: LocalSupervisor;
let socket: Socket;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
  socket = await supervisor.openStream();
  socket.on('error', () => undefined);
});
afterEach(() => supervisor[Symbol.asyncDispose]());

function answer(request: string): Promise<{ type: number; text: string }> {
  return new Promise((resolve) => {
    const reader = new FrameReader((frame: Frame) => resolve({ type: frame.type, text: frame.payload.toString() }));
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
    socket.write(encodeFrame(FRAMES.request, 1, request));
  });
}

const exec = { cwd: '.', env: {}, timeoutMs: 0, maxOutputBytes: 1, stdin: 'empty', command: 'true' };
const start = (changes: object): string => JSON.stringify({ operation: 'start', execId: 'a', ...exec, ...changes });

test.each([
  ['no JSON', '{"operation":'],
  ['no object', '[]'],
  ['an endless nesting', '['.repeat(500_000)],
  ['an endless number', `{"operation":${'9'.repeat(100_000)}}`],
  ['an unknown operation', '{"operation":"reboot"}'],
  ['an operation of every object', '{"operation":"__proto__"}'],
  ['an unknown field', '{"operation":"ping","x":1}'],
  ['a field named __proto__', '{"operation":"ping","__proto__":{}}'],
  ['an id that leads elsewhere', start({ execId: '../../etc' })],
  ['an id of dots', start({ execId: '..' })],
  ['an id with a line break', start({ execId: 'a\n' })],
  ['an empty id', start({ execId: '' })],
  ['a NUL', start({ command: 'true\0' })],
  ['half a character', start({ command: '\uD800' })],
  ['an environment name with =', start({ env: { 'A=B': '1' } })],
  ['a negative timeout', start({ timeoutMs: -1 })],
  ['a timeout that is no number', '{"operation":"start","timeoutMs":NaN}'],
  ['a flag for a number', start({ timeoutMs: true })],
  ['neither command nor program', start({ command: undefined })],
  ['both command and program', start({ argv: ['true'] })],
])('a request with %s is refused, and the connection lives on', async (_what, request) => {
  const refused = await answer(request);
  expect(refused.type).toBe(FRAMES.error);
  expect(JSON.parse(refused.text)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  socket.removeAllListeners('data');
  expect((await answer('{"operation":"ping"}')).type).toBe(FRAMES.end);
  expect(await supervisor.handle.execs()).toEqual([]);
});

test.each([
  ['a giant frame', Buffer.from([0x7f, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1])],
  ['a frame shorter than its header', Buffer.alloc(9)],
  ['an unknown type of frame', Buffer.concat([encodeFrame(FRAMES.request, 1, '{"operation":"list"}'), encodeFrame(77, 1, '')])],
])('%s ends that connection and no other', async (_what, bytes) => {
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  await closed;
  await supervisor.connection.ping();
});

test('more data than the window allows ends the connection', async () => {
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(encodeFrame(FRAMES.request, 1, start({ command: 'sleep 1000', stdin: 'open' })));
  socket.write(encodeFrame(FRAMES.request, 2, '{"operation":"input","execId":"a","inputId":"i","size":100000000,"end":true}'));
  for (let sent = 0; sent < LIMITS.windowBytes * 3; sent += 60_000) socket.write(encodeFrame(FRAMES.data, 2, Buffer.alloc(60_000)));
  await closed;
  await supervisor.connection.ping();
});

test('data is written as it comes, also in the middle of its frame, and frames are understood however they are cut', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
  const frames = Buffer.concat([
    encodeFrame(FRAMES.request, 1, JSON.stringify({ operation: 'writeFile', path: 'cut', size: bytes.length, parents: true })),
    encodeFrame(FRAMES.data, 1, bytes.subarray(0, 60_000)),
    encodeFrame(FRAMES.request, 2, '{"operation":"ping"}'),
    encodeFrame(FRAMES.data, 1, bytes.subarray(60_000)),
  ]);
  const seen: Frame[] = [];
  const reader = new FrameReader((frame) => seen.push(frame));
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  const written = () => readdirSync(supervisor.home).reduce((sum, name) => sum + statSync(join(supervisor.home, name)).size, 0);
  const head = frames.indexOf(bytes.subarray(0, 100));
  let sent = 0;
  for (const end of [3, head - 2, head + 30_000]) {
    socket.write(frames.subarray(sent, end));
    sent = end;
  }
  await until(() => written() === 30_000);
  socket.write(frames.subarray(sent));
  await until(() => seen.some(({ type, channel }) => channel === 1 && type === FRAMES.end));
  expect(seen.some(({ type, channel }) => channel === 2 && type === FRAMES.end)).toBe(true);
  expect(readFileSync(join(supervisor.home, 'cut')).equals(bytes)).toBe(true);
});

test('a connection cut in the middle of a frame harms no other client', async () => {
  socket.write(encodeFrame(FRAMES.request, 1, start({})).subarray(0, 20));
  socket.destroy();
  expect((await supervisor.handle.run('echo fine')).stdout.text).toBe('fine\n');
});
