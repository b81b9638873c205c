import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { decide } from '../../../../src/plugins/approval/decide.ts';
import { until } from '../../../sandbox/lifecycle/support.ts';
import { call, fixtureProgram, hostileProgram, openBench, serveAnswers, serveFixture, type Bench } from './support.ts';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Long enough that no test ends by it. */
const LONG_MS = 120_000;

describe('a server on the host', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(await fixtureProgram({ env: { SECRET: '${env.FIX_SECRET}' } }), { FIX_SECRET: 'hunter2' });
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test('becomes a plugin whose tools have its names, schemas and annotations, one to one', () => {
    const { id, dialect, version, tools, alerts } = bench.plugin();
    expect([id, dialect]).toEqual(['fix', 'mcp']);
    expect(version).toMatch(/^1\.2\.3\+[0-9a-f]{12}$/);
    expect(tools.map((tool) => tool.id)).toEqual(['add', 'about_user', 'count', 'show', 'about_itself', 'slow', 'refuse', 'lies', 'grow', 'die']);
    expect(tools[0]).toMatchObject({
      description: 'Adds two numbers.',
      annotations: { title: 'Adder', readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
      resultSchema: { properties: { sum: { type: 'number' } } },
      timeoutMs: 10_000,
    });
    expect(alerts.map(({ text }) => text)).toEqual([expect.stringMatching(/^Its tool "wrong" is left out: \/inputSchema\/properties: /)]);
  });

  test('asks for approval of every call, unless the agent says otherwise', () => {
    const tool = createRegistry([bench.plugin()]).get('fix:add')!;
    expect(decide({ approval: [], requireApproval: {} }, tool, {}).decision).toBe('ask');
    expect(decide({ approval: [], requireApproval: { 'fix:add': false } }, tool, {}).decision).toBe('allow');
    expect(decide({ approval: [{ annotation: 'readOnlyHint', decide: 'allow' }], requireApproval: {} }, tool, {}).decision).toBe('allow');
  });

  test('its arguments are checked by its schemas of draft 7, and a field called user_id is its own', () => {
    const registry = createRegistry([bench.plugin()]);
    expect(registry.get('fix:add')!.problemsOf({ a: 1, b: 'x' })).toEqual(['/b: expected number, got string']);
    expect(registry.get('fix:about_user')!.accept({ user_id: 'bob' })).toEqual({ user_id: 'bob' });
  });

  test('its text, images, sound, resources and structured content are results', async () => {
    expect(await call(bench, 'add', { a: 1, b: 2 })).toEqual({ sum: 3 });
    expect(await call(bench, 'about_user', { user_id: 'bob' })).toBe('bob');
    expect(await call(bench, 'refuse')).toEqual({ content: [{ type: 'text', text: 'It is closed.' }], isError: true });
    expect(await call(bench, 'show')).toEqual({
      content: [
        { type: 'text', text: 'all' },
        { type: 'image', mediaType: 'image/png', data: 'aW1hZ2U=' },
        { type: 'file', mediaType: 'audio/wav', name: 'audio', data: 'YXVkaW8=' },
        { type: 'text', text: 'file:///notes.txt:\na note' },
        { type: 'file', mediaType: 'application/x-note', name: 'notes.bin', data: 'YmxvYg==' },
        { type: 'text', text: 'note one: https://notes.example/1' },
      ],
      isError: false,
    });
    const lies = createRegistry([bench.plugin()]).get('fix:lies')!;
    expect(lies.resultProblemsOf((await call(bench, 'lies')) as never)).toEqual(['/sum: expected number, got string']);
  });

  test('its environment is what the agent gives it, filled in when it is started, and little else', async () => {
    const { secret, variables } = JSON.parse((await call(bench, 'about_itself')) as string) as { secret: string; variables: string[] };
    expect(secret).toBe('hunter2');
    expect(variables).not.toContain('DATABASE_URL');
    expect(variables).not.toContain('TEMPORAL_ADDRESS');
  });

  test('each of its tools has its own time limit, and a named tool that its server lacks is reported', async () => {
    const limits = { toolTimeoutsMs: { slow: 90_000, swift: 1 } };
    await using other = await openBench(await fixtureProgram(limits));
    expect(other.plugin().tools.map(({ id, timeoutMs }) => (id === 'slow' ? timeoutMs === 90_000 : timeoutMs === 10_000))).not.toContain(false);
    expect(other.plugin().alerts.map(({ text }) => text)).toContain('"timeouts" names tools that it does not have: swift');
  });

  test('progress of a call is told, and a call that is aborted is told to the server', async () => {
    const lines: string[] = [];
    expect(await call(bench, 'slow', { ms: 1 }, { heartbeat: (line) => lines.push(line) })).toBe('done');
    expect(lines).toEqual(['half way']);
    const abort = new AbortController();
    const aborted = call(bench, 'slow', { ms: LONG_MS }, { signal: abort.signal, heartbeat: () => abort.abort(new Error('enough')) });
    await expect(aborted).rejects.toThrow('enough');
    expect(Number(await call(bench, 'count'))).toBeGreaterThan(100);
  });

  test('a change of its tools is followed', async () => {
    const before = bench.plugin().version;
    await call(bench, 'grow');
    await bench.until(({ tools }) => tools.some(({ id }) => id.startsWith('grown')));
    expect(bench.plugin().version).not.toBe(before);
    expect(bench.plugin().alerts.at(-1)).toMatchObject({ level: 'info', text: expect.stringMatching(/^Its tools have changed; now there are: add, .*grown/) });
  });

  test('a server that is killed is started again, which is reported, and the call under way is unknown', async () => {
    const { pid } = JSON.parse((await call(bench, 'about_itself')) as string) as { pid: number };
    const failed = bench.until(({ problem }) => problem !== undefined);
    await expect(call(bench, 'slow', { ms: LONG_MS }, { heartbeat: () => void process.kill(pid, 'SIGKILL') })).rejects.toThrow(
      'the MCP server fix ended during this call, so it is not known whether the call took effect; the server is started again',
    );
    await failed;
    expect(bench.plugin().problem).toMatch(/^The server has ended \(.*\); it is tried again$/);
    expect(await call(bench, 'count')).toBe('1');
    expect(bench.plugin()).not.toHaveProperty('problem');
    const texts = bench.plugin().alerts.map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringMatching(/^The server has ended \(.*\); it is tried again$/));
    expect(texts).toContain('The server is available again');
    expect(bench.logged).toContain('The server is available again');
  });
});

test('a server that is disabled is ended as soon as its call under way is through, and is started again when it is enabled', async () => {
  await using bench = await openBench(await fixtureProgram({ timeoutMs: LONG_MS }));
  const { pid } = JSON.parse((await call(bench, 'about_itself')) as string) as { pid: number };
  const setEnabled = (isEnabled: boolean) => bench.plugin().setEnabled?.(isEnabled);
  const ended = bench.until(({ alerts }) => alerts.at(-1)?.text === 'The server was ended, since an operator disabled it');
  expect(await call(bench, 'slow', { ms: 200 }, { heartbeat: () => setEnabled(false) })).toBe('done');
  await ended;
  expect(bench.plugin()).not.toHaveProperty('problem');
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  setEnabled(true);
  expect(await call(bench, 'count')).toBe('1');
  expect(bench.plugin().alerts.at(-1)?.text).toBe('The server is available again');
  // Before it was ended.
  setEnabled(false);
  setEnabled(true);
  expect(await call(bench, 'count')).toBe('2');
});

test('a server that ignores the end of its stdin is ended too, also behind a launcher', async () => {
  const deaf = `process.stdin.removeAllListeners('end'); setInterval(() => undefined, 1000);
    on('tools/call', ({ id }) => reply(id, { content: [{ type: 'text', text: String(process.pid) }] }));`;
  const { command, args, ...rest } = hostileProgram(deaf);
  const bench = await openBench({ ...rest, command: 'sh', args: ['-c', '"$0" "$@"; exit $?', command, ...args] });
  const pid = Number(await call(bench, 'go'));
  process.kill(pid, 0);
  await bench[Symbol.asyncDispose]();
  // Its parent has ended before it, so another process reaps it.
  await until(async () => !isAlive(pid), 'it is gone');
});

test('a server that is disabled from the start is not started until it is enabled', async () => {
  await using bench = await openBench(await fixtureProgram(), {}, { isEnabled: false });
  expect(bench.plugin()).toMatchObject({ tools: [], alerts: [] });
  bench.plugin().setEnabled?.(true);
  await bench.until(({ tools }) => tools.length > 0);
  expect(await call(bench, 'count')).toBe('1');
});

describe('a server behind HTTP', () => {
  test('is called with its headers, followed, and found again when it has forgotten the session', async () => {
    await using served = await serveFixture();
    await using bench = await openBench({ url: served.url, headers: { authorization: 'Bearer ${env.TOKEN}' }, timeoutMs: LONG_MS }, { TOKEN: 't0p' });
    expect(await call(bench, 'add', { a: 2, b: 2 })).toEqual({ sum: 4 });
    expect(served.headers).toMatchObject({ authorization: 'Bearer t0p' });
    await call(bench, 'grow');
    await bench.until(({ tools }) => tools.some(({ id }) => id.startsWith('grown')));
    served.restart();
    expect(await call(bench, 'count')).toBe('1');
    served.restart({ status: 400, text: 'Bad Request: No valid session ID provided' });
    expect(await call(bench, 'count')).toBe('1');
  });

  test('that refuses a call is told with its status', async () => {
    await using served = await serveFixture();
    await using bench = await openBench({ url: served.url, headers: {}, timeoutMs: LONG_MS });
    served.restart({ status: 401, text: 'no such key' });
    await expect(call(bench, 'count')).rejects.toThrow('it answers with HTTP 401: no such key');
  });

  test('that breaks off a call gets a new session, and the call is unknown', async () => {
    await using served = await serveFixture();
    await using bench = await openBench({ url: served.url, headers: {}, timeoutMs: LONG_MS });
    await expect(call(bench, 'slow', { ms: LONG_MS }, { heartbeat: () => served.cut() })).rejects.toThrow(
      'the MCP server fix ended during this call, so it is not known whether the call took effect; the server is started again',
    );
    expect(await call(bench, 'count')).toBe('1');
  });

  test('that is away for a while is waited for by a call, which is made once', async () => {
    const first = await serveFixture();
    await using bench = await openBench({ url: first.url, headers: {}, timeoutMs: LONG_MS });
    await first[Symbol.asyncDispose]();
    // Until this side has seen the end of its connections, a call that is cut off with one counts as made.
    await until(async () => (await fetch(first.url).catch((error: Error) => String((error.cause as { code?: string }).code))) === 'ECONNREFUSED', 'it is gone');
    const failed = bench.until(({ problem }) => problem !== undefined);
    const counted = call(bench, 'count');
    await failed;
    await using _second = await serveFixture(Number(new URL(first.url).port));
    expect(await counted).toBe('1');
  });

  test('is told that the session is over when it is disabled, and when the worker ends', async () => {
    await using served = await serveFixture();
    const bench = await openBench({ url: served.url, headers: {}, timeoutMs: LONG_MS });
    bench.plugin().setEnabled?.(false);
    await bench.until(({ alerts }) => alerts.at(-1)?.text === 'The server was ended, since an operator disabled it');
    expect(served.closed()).toBe(1);
    bench.plugin().setEnabled?.(true);
    expect(await call(bench, 'count')).toBe('1');
    await bench[Symbol.asyncDispose]();
    expect(served.closed()).toBe(2);
  });

  test('that cannot be reached has no tools until it can', async () => {
    const first = await serveFixture();
    const port = Number(new URL(first.url).port);
    await first[Symbol.asyncDispose]();
    await using bench = await openBench({ url: first.url, headers: {}, timeoutMs: LONG_MS });
    expect(bench.plugin().tools).toEqual([]);
    expect(bench.plugin().alerts[0]).toMatchObject({ level: 'error', text: expect.stringMatching(/^The server cannot be used: fetch failed: .*ECONNREFUSED/) });
    await using _second = await serveFixture(port);
    await bench.until(({ tools }) => tools.length > 0);
    expect(await call(bench, 'count')).toBe('1');
  });
});

describe('a hostile server', () => {
  test.each([
    ['a message without end', `on('tools/call', () => { const chunk = 'x'.repeat(1 << 20); for (let n = 0; n < 40; n += 1) process.stdout.write(chunk); });`],
    [
      'a flood of notifications',
      `on('tools/call', () => { for (let n = 0; n < 5000; n += 1) send({ method: 'notifications/message', params: { level: 'info', data: 'x' } }); });`,
    ],
    ['a flood of lines that are no messages', `on('tools/call', () => process.stdout.write('nonsense\\n'.repeat(5000)));`],
  ])('that sends %s is ended', async (_what, script) => {
    await using bench = await openBench(hostileProgram(script));
    await expect(call(bench, 'go')).rejects.toThrow('ended during this call');
  });

  const deep = `'['.repeat(100000) + ']'.repeat(100000)`;
  test.each([
    ['nested', deep, 'its answer is nested more than 500 levels deep'],
    ['of many keys', `'[' + '{},'.repeat(250000) + '{}]'`, 'its answer has more than 200000 keys, objects and lists'],
  ])('whose answer is %s fails the call alone', async (_, value, problem) => {
    const answer = `'{"result":{"content":[],"structuredContent":{"a":' + ${value} + '}},"jsonrpc":"2.0","id":' + id + '}\\n'`;
    await using bench = await openBench(
      hostileProgram(`on('tools/call', ({ id, params }) => params.arguments.plain ? reply(id, { content: [] }) : process.stdout.write(${answer}));`),
    );
    await expect(call(bench, 'go')).rejects.toThrow(problem);
    expect(await call(bench, 'go', { plain: true })).toBe('Done.');
    expect(bench.plugin().alerts).toEqual([]);
  });

  test.each(['application/json', 'text/event-stream'])('whose answers of %s are too much is spoken with anew, and says why', async (type) => {
    await using served = await serveAnswers(
      type,
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    );
    await using bench = await openBench({ url: served.url, headers: {}, timeoutMs: LONG_MS });
    await expect(call(bench, 'go')).rejects.toThrow('the MCP server fix ended during this call');
    await bench.until(({ alerts }) => alerts.some(({ text }) => text.includes('it sent a message that is nested more than 500 levels deep')));
  });

  test('may print a few lines that are no messages', async () => {
    await using bench = await openBench(
      hostileProgram(`on('tools/call', ({ id }) => { console.log('debug'); reply(id, { content: [{ type: 'text', text: 'fine' }] }); });`),
    );
    expect(await call(bench, 'go')).toBe('fine');
  });

  test('that answers with another shape is an error of the call', async () => {
    await using bench = await openBench(hostileProgram(`on('tools/call', ({ id }) => reply(id, { content: 'all' }));`));
    await expect(call(bench, 'go')).rejects.toThrow(/content/);
  });

  test('with tools too many or too large is used for the others', async () => {
    const many = `on('tools/list', ({ id }) => reply(id, { tools: [...Array(600).keys()].map((n) => ({ name: 't' + n, description: n === 3 ? 'x'.repeat(70000) : 'd', inputSchema: { type: 'object' } })) }));`;
    await using bench = await openBench(hostileProgram(many));
    expect(bench.plugin().tools).toHaveLength(499);
    expect(bench.plugin().alerts.map(({ text }) => text)).toEqual([
      'It has 600 tools; the first 500 are used',
      expect.stringMatching(/^Its tool "t3" is left out: its definition has \d+ characters; at most 65536 are allowed$/),
    ]);
  });

  test('that ends at once is tried again after pauses that grow, with what it said last', async () => {
    await using bench = await openBench({ ...hostileProgram(''), args: ['-e', 'console.error("no licence"); process.exit(1)'] });
    expect(bench.plugin().alerts[0]?.text).toMatch(/^The server cannot be used: .*no licence; it is tried again$/);
  });
});

test('a variable that the worker does not have is told, and the server not started', async () => {
  await using bench = await openBench(await fixtureProgram({ env: { SECRET: '${env.FIX_SECRET}' } }));
  expect(bench.plugin().alerts[0]?.text).toContain('Plugin mcp:fix: the environment variable FIX_SECRET is not set. Set FIX_SECRET for the worker');
});
