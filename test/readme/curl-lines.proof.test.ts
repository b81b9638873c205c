import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';
import { install, type Installation } from '../e2e/support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8280';

let installation: Installation;
let home: string;
/** Where the service of `longshore dev` is; the lines name the port that it has unless another is wanted. */
let url = '';
let stop: () => Promise<void>;
beforeAll(async () => {
  installation = await install([]);
  home = await mkdtemp(join(tmpdir(), 'longshore-home-'));
  const { LONGSHORE_HOME: _, ...environment } = { ...installation.environment };
  const env = { ...environment, HOME: home, LONGSHORE_AGENTS: join(ROOT, 'agents'), LONGSHORE_API_ADDRESS: '127.0.0.1:0' };
  const dev = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'dev'], { cwd: ROOT, env });
  const ended = once(dev, 'exit');
  let said = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  stop = async () => {
    dev.kill('SIGINT');
    await ended;
  };
  const find = () => /HTTP API {4}(\S+) \(key/.exec(said)?.[1];
  const failIfEnded = ended.then(() => Promise.reject(new Error(`dev has ended: ${said}`)));
  failIfEnded.catch(() => undefined);
  while (find() === undefined || !said.includes('worker ready')) await Promise.race([once(dev.stdout, 'data'), once(dev.stderr, 'data'), failIfEnded]);
  url = find() ?? '';
}, 400_000);
afterAll(async () => {
  for (const { conversationId } of await installation.longshore.list()) await installation.longshore.close(conversationId);
  await stop();
  await rm(home, { recursive: true, force: true });
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** The blocks of shell lines of a file between two marks. */
async function blocksOf(file: string, from: string, to: string): Promise<string> {
  const text = await readFile(join(ROOT, file), 'utf8');
  const begin = text.indexOf(from);
  const part = text.slice(begin, text.indexOf(to, begin + from.length));
  return [...part.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block).join('');
}

async function run(lines: string): Promise<string> {
  expect(lines).toContain(ADDRESS);
  const script = lines.replaceAll(ADDRESS, url);
  const { code, stdout, stderr } = await runCommand('bash', ['-euo', 'pipefail', '-c', script], { env: { PATH: process.env['PATH'] ?? '', HOME: home } });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

const REPLY = expect.stringContaining('I am a script') as string;

test('the curl lines of the README start a conversation with the agent of a fresh checkout, and print its reply', async () => {
  const answer = JSON.parse(await run(await blocksOf('README.md', '<!-- run: curl -->', '[Whole programs]'))) as object;
  expect(answer).toMatchObject({ conversationId: expect.stringMatching(/^conv_/) as string, turn: { outcome: 'finished', reply: REPLY } });
}, 120_000);

test('the curl lines of the guide start a conversation, follow it, go on with it, show it and close it', async () => {
  const lines = await blocksOf('docs/guides/http.md', '## A conversation with curl', '\n## ');
  const printed = await run(lines);
  const frames = printed.split('\n').filter((line) => line.startsWith('data: '));
  const types = frames.map((line) => (JSON.parse(line.slice('data: '.length)) as { type: string }).type);
  expect([types[0], types.at(-1)]).toEqual(['conversation.started', 'turn.finished']);
  const answers = printed
    .split(/\n|(?<=\})(?=\{)/)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object);
  expect(answers).toMatchObject([
    { turn: { outcome: 'finished', reply: REPLY } },
    { turn: { outcome: 'finished', reply: REPLY } },
    { agentId: 'hello', userId: 'user-42', status: { state: 'idle' } },
    { accepted: true },
  ]);
}, 120_000);
