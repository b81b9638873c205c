import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { encodeFrame, FRAMES } from '../../../../src/sandbox/protocol/frames.ts';
import { LocalSupervisor, until } from '../local-supervisor.ts';

let supervisor: LocalSupervisor;
let socket: Socket;
let lock: ChildProcess | undefined;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
  socket = await supervisor.openStream();
  socket.on('error', () => undefined);
});
afterEach(async () => {
  lock?.kill('SIGKILL');
  lock = undefined;
  // A supervisor that hangs does not end by itself.
  await supervisor.die();
  await supervisor[Symbol.asyncDispose]();
});

const request = (channel: number, fields: object) => encodeFrame(FRAMES.request, channel, JSON.stringify(fields));
const cancel = (channel: number) => encodeFrame(FRAMES.cancel, channel, '');

/** Keeps the store of checkpoints locked: work on it does not end before `lock` does. */
async function lockStore(): Promise<void> {
  const store = join(supervisor.directory, 'checkpoints');
  mkdirSync(store);
  lock = spawn('bash', ['-c', 'exec flock "$0" sh -c "echo locked; read -r _"', store], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(lock.stdout!, 'data');
}

const temporary = () => readdirSync(supervisor.home).filter((name) => name.startsWith('.upload'));

test('an upload that is cancelled while a checkpoint holds it still ends, and the supervisor goes on', async () => {
  await lockStore();
  socket.write(request(1, { operation: 'writeFile', path: 'upload', size: 10, parents: false }));
  await until(() => temporary().length === 1);
  socket.write(request(2, { operation: 'createCheckpoint', key: 'one', keep: 10 }));
  socket.write(cancel(1));
  await until(() => temporary().length === 0);
  expect((await supervisor.handle.run('echo alive')).stdout.text).toBe('alive\n');
  lock!.kill('SIGKILL');
  await supervisor.handle.writeFile('upload', 'later');
  expect((await supervisor.handle.readFile('upload')).toString()).toBe('later');
});

test('work that is cancelled as soon as it begins ends, and the supervisor does not wait for it', async () => {
  await lockStore();
  for (let channel = 1; channel <= 20; channel += 1)
    socket.write(Buffer.concat([request(channel, { operation: 'createCheckpoint', key: String(channel), keep: 10 }), cancel(channel)]));
  expect((await supervisor.handle.run('echo alive')).stdout.text).toBe('alive\n');
});

test('a named pipe in the place of the next piece of an upload is an error, and not a wait for its reader', async () => {
  const piece = { operation: 'writePart', path: 'large', uploadId: 'u1', parents: false };
  socket.write(request(1, { ...piece, offset: 0, size: 0 }));
  const part = '.large.u1.part';
  await until(() => readdirSync(supervisor.home).includes(part));
  await supervisor.handle.run(`rm ${part}; mkfifo ${part}`);
  const answers: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => answers.push(chunk));
  socket.write(request(2, { ...piece, offset: 1, size: 1 }));
  socket.write(encodeFrame(FRAMES.data, 2, 'x'));
  await until(() => Buffer.concat(answers).toString('latin1').includes('"problem"'));
  expect(Buffer.concat(answers).toString('latin1')).toContain('is not a regular file');
});
