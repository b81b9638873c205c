import type { CommandResult, ExecInfo } from '../../../src/sandbox/api/commands.ts';
import { until } from '../../e2e/support.ts';
import { framesOf } from '../support.ts';
import { openSandboxService, type SandboxService } from './support.ts';

let service: SandboxService;
beforeAll(async () => {
  service = await openSandboxService();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
}, 180_000);

interface Started {
  command: ExecInfo;
  result?: CommandResult;
  code?: string;
}

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  service.ask(`/commands${path}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
const start = async (body: object, headers: Record<string, string> = {}, query = '') => {
  const answer = await post(query, body, headers);
  return { status: answer.status, ...((await answer.json()) as Started) };
};
const follow = async (execId: string, headers: Record<string, string> = {}) => {
  const frames: string[] = [];
  for await (const frame of framesOf(await service.ask(`/commands/${execId}/output`, { headers }))) frames.push(frame);
  return frames.filter((frame) => frame.startsWith('id: '));
};
const dataOf = (frame: string | undefined) => JSON.parse(/\ndata: (.*)\n/.exec(frame ?? '')?.[1] ?? 'null') as { text: string; exitCode: number };
const textOf = (frames: string[], stream: string) =>
  frames
    .filter((frame) => frame.includes(`\nevent: ${stream}\n`))
    .map((frame) => dataOf(frame).text)
    .join('');

test('a command is answered with its result when it ends in time, and goes on when it does not', async () => {
  const done = await start({ command: 'cat; echo "$NAME in $PWD" >&2; exit 3', stdin: 'given', env: { NAME: 'me' }, cwd: '/tmp' }, {}, '?wait=30');
  expect([done.status, done.result]).toEqual([
    201,
    expect.objectContaining({
      status: 'exited',
      exitCode: 3,
      stdout: expect.objectContaining({ text: 'given' }) as object,
      stderr: expect.objectContaining({ text: 'me in /tmp\n' }) as object,
    }),
  ]);
  expect(done.command).toMatchObject({ state: 'ended', result: { status: 'exited', exitCode: 3 }, stdoutBytes: 5, stderrBytes: 11 });
  const slow = await start({ command: 'sleep 1000' }, {}, '?wait=1');
  expect([slow.status, slow.command.state, slow.result]).toEqual([202, 'running', undefined]);
  const killed = await post(`/${slow.command.execId}/kill`, {});
  expect(await killed.json()).toEqual({ signalled: true });
  const show = async () => (await (await service.ask(`/commands/${slow.command.execId}`)).json()) as ExecInfo;
  await until(async () => (await show()).state === 'ended', 'it has ended');
  expect((await show()).result).toMatchObject({ status: 'killed' });
  const { commands } = (await (await service.ask('/commands')).json()) as { commands: ExecInfo[] };
  expect(commands.map(({ execId }) => execId)).toEqual(expect.arrayContaining([done.command.execId, slow.command.execId]));
}, 60_000);

test('a start that is repeated, by its id or its key, is one command', async () => {
  const same = await Promise.all([1, 2, 3].map(() => start({ id: 'once', command: 'echo x >> once.txt' }, {}, '?wait=30')));
  expect(same.map(({ status, command }) => [status, command.execId])).toEqual([1, 2, 3].map(() => [201, 'run_once']));
  const keyed = await Promise.all([1, 2].map(() => start({ command: 'echo y >> once.txt' }, { 'idempotency-key': 'k-1' }, '?wait=30')));
  expect(keyed[0]?.command.execId).toBe(keyed[1]?.command.execId);
  expect(await (await service.ask('/files/once.txt')).text()).toBe('x\ny\n');
  const other = await start({ id: 'once', command: 'echo z' });
  expect([other.status, other.code]).toEqual([409, 'EXEC_MISMATCH']);
}, 60_000);

test('output is followed to the end, and again from any event, with the same text', async () => {
  const { command } = await start({
    command: `printf 'a\\xc3'; sleep 0.2; printf '\\xa9\\xff'; echo; echo wrong >&2; for i in $(seq 2000); do echo "line $i"; done`,
  });
  const frames = await follow(command.execId);
  const whole = `aé\u{fffd}\n${Array.from({ length: 2000 }, (_, index) => `line ${index + 1}\n`).join('')}`;
  expect([textOf(frames, 'stdout'), textOf(frames, 'stderr')]).toEqual([whole, 'wrong\n']);
  expect(dataOf(frames.at(-1))).toMatchObject({ status: 'exited', exitCode: 0 });
  for (const [index, frame] of frames.slice(0, 3).entries()) {
    const id = /^id: (\S+)/.exec(frame)?.[1] ?? '';
    const rest = await follow(command.execId, { 'last-event-id': id });
    expect(textOf(frames.slice(0, index + 1), 'stdout') + textOf(rest, 'stdout')).toBe(whole);
    expect(dataOf(rest.at(-1))).toMatchObject({ status: 'exited' });
  }
  expect((await service.ask('/commands/run_absent/output')).status).toBe(404);
  expect((await service.ask(`/commands/${command.execId}/output`, { headers: { 'last-event-id': 'x' } })).status).toBe(400);
}, 60_000);

test('input is sent while a command runs', async () => {
  const { command } = await start({ command: 'while read -r line; do echo "got $line"; done; echo end', openStdin: true });
  const send = (body: string, query = '') => service.ask(`/commands/${command.execId}/stdin${query}`, { method: 'POST', body });
  expect((await send('one\n')).status).toBe(204);
  expect((await send('two\n', '?end')).status).toBe(204);
  expect(textOf(await follow(command.execId), 'stdout')).toBe('got one\ngot two\nend\n');
  expect((await send('three\n')).status).toBe(409);
}, 60_000);

test('who follows the output of a command, and who waits for its end, has one of the streams of the key', async () => {
  const own = { ...(await service.key(['sandbox:exec'], 'north')), 'content-type': 'application/json' };
  const [, key = ''] = /lsk_([^_]+)_/.exec(own.authorization) ?? [];
  await service.installation.longshore.limits.set({ key, streams: 1 });
  const { command } = await start({ command: 'sleep 1000' });
  const leaving = new AbortController();
  const output = () => service.ask(`/commands/${command.execId}/output`, { headers: own, signal: leaving.signal });
  const first = await output();
  expect([first.status, (await output()).status]).toEqual([200, 429]);
  expect(await start({ command: 'touch waited' }, own, '?wait=30')).toMatchObject({ status: 429, code: 'STREAM_LIMIT' });
  expect((await service.ask('/files/waited')).status).toBe(404);
  expect((await start({ command: 'true' }, own)).status).toBe(202);
  leaving.abort();
  await first.text().catch(() => undefined);
  await until(async () => (await start({ command: 'true' }, own, '?wait=30')).status === 201, 'room for one that waits');
  await post(`/${command.execId}/kill`, {});
}, 60_000);

test('a key without the scope for commands starts none, and sees none', async () => {
  const headers = { ...(await service.key(['files:write', 'files:read', 'conversations:write'], 'north')), 'content-type': 'application/json' };
  expect((await post('', { command: 'true' }, headers)).status).toBe(403);
  expect((await service.ask('/commands', { headers })).status).toBe(403);
  const south = { ...(await service.key(['sandbox:exec'], 'south')), 'content-type': 'application/json' };
  expect((await post('', { command: 'true' }, south)).status).toBe(404);
});
