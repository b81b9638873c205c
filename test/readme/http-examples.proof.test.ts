import { once } from 'node:events';
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { runCommand } from '../../src/platform/run-command.ts';
import { startApi, type TestApi } from '../api/support.ts';
import { installAgents, until, type Installation } from '../e2e/support.ts';

const HALF_AN_EVENT = 10;

let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  installation = await installAgents({
    fixer: {
      approval: [{ tool: 'shell:run', decide: 'ask' }],
      steps: [
        { say: 'I run the tests.', call: 'shell:run', with: { command: 'echo 1 passed' }, expect: { stdout: '/1 passed/' } },
        { say: 'The test is fixed.' },
      ],
    },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** A network between a program and the service that loses the answer of the first request to each route, and cuts the first stream in the middle of its second event. */
async function startBadNetwork(): Promise<AsyncDisposable & { url: string; resumed: (string | undefined)[] }> {
  const lost = new Set<string>();
  const resumed: (string | undefined)[] = [];
  const pass = async (given: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = given;
    const asked = sendRequest(service.url + url, { method, headers }).end(await buffer(given));
    const [got] = (await once(asked, 'response')) as [IncomingMessage];
    const route = `${method} ${url.split('/').at(-1)?.split('?')[0]}`;
    const isFirst = !lost.has(route);
    lost.add(route);
    const isStream = got.headers['content-type']?.startsWith('text/event-stream');
    if (isStream) resumed.push(headers['last-event-id'] as string | undefined);
    if (isStream && isFirst) return cut(got, answer);
    const body = isStream ? undefined : await buffer(got);
    if (isFirst) return void answer.destroy();
    answer.writeHead(got.statusCode ?? 0, got.headers);
    return void (body ? answer.end(body) : got.pipe(answer));
  };
  const server = createServer((given, answer) => void pass(given, answer).catch(() => answer.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    resumed,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes the first event, and half of what comes then. */
async function cut(got: IncomingMessage, answer: ServerResponse): Promise<void> {
  answer.writeHead(200, got.headers);
  let text = '';
  let sent = 0;
  for await (const chunk of got.setEncoding('utf8')) {
    text += String(chunk);
    const end = text.indexOf('\n\n', text.indexOf('id: ')) + 2;
    if (!text.includes('id: ') || end < 2) continue;
    answer.write(text.slice(sent, end));
    sent = end;
    if (text.length < end + HALF_AN_EVENT) continue;
    answer.write(text.slice(end, end + HALF_AN_EVENT), () => answer.destroy());
    break;
  }
  got.destroy();
}

test.each([
  ['curl.sh', 'bash', ['examples/http/curl.sh']],
  ['conversation.ts', process.execPath, ['--import', 'tsx', 'examples/http/conversation.ts']],
  ['conversation.py', 'python3', ['examples/http/conversation.py']],
])(
  '%s starts one conversation over a network that loses answers and cuts streams, allows its call once, has its reply and closes it',
  async (_file, program, args) => {
    await using network = await startBadNetwork();
    const before = (await installation.longshore.list()).length;
    const key = await service.key();
    const env = { PATH: process.env['PATH'] ?? '', LONGSHORE_URL: network.url, LONGSHORE_API_KEY: key.authorization.slice('Bearer '.length) };
    const { code, stdout, stderr } = await runCommand(program, args, { env });
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^allowed shell:run\n.*The test is fixed\./) as string });
    const rows = await installation.longshore.list();
    expect(rows).toHaveLength(before + 1);
    const [row] = rows;
    const id = row?.conversationId ?? '';
    await until(async () => (await installation.longshore.status(id)).state === 'closed', 'the conversation is closed');
    const [from, ...then] = network.resumed;
    expect(from).toBe('0');
    expect(then.length).toBeGreaterThan(0);
    expect(then.every((seq) => Number(seq) > 0)).toBe(true);
    const events = (await installation.store.events.read(id, 0)).filter(({ type }) => type === 'tool.approval-resolved');
    expect(events.map(({ data }) => data)).toMatchObject([{ answer: 'allow-once', by: 'user-42' }]);
  },
  120_000,
);
