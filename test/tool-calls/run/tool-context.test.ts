import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ContentPart } from '../../../src/contracts/transcript.ts';
import type { ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import type { PluginServices } from '../../../src/plugins/api/plugin-services.ts';
import { NO_SERVICES, setUpCall, until } from '../../activities/fakes.ts';

/** Runs one call of a host tool and gives what it returned, or what the model reads about its failure. */
async function run(execute: (context: ToolContext) => Promise<string>, services: PluginServices = NO_SERVICES, declared = {}): Promise<string> {
  const call = setUpCall({ isolation: 'host', ...declared, execute: (_input, context) => execute(context) }, services);
  await call.propose();
  await call.worker().execute();
  return call.resultText();
}

test('a tool is given the variables that it declares and the worker has, and no others', async () => {
  const environment = (name: string) => ({ KEY: 'k', SECRET: 's' })[name];
  const given = run(async ({ env }) => JSON.stringify(env), { ...NO_SERVICES, environment }, { permissions: { env: ['KEY', 'ABSENT'] } });
  await expect(given).resolves.toBe('{"KEY":"k"}');
});

test('a tool is given of the sandbox what the API of plugins has, and nothing of how an attempt at its call is run', async () => {
  const given = run(async ({ sandbox }) => JSON.stringify(Object.keys(sandbox).toSorted()));
  await expect(given).resolves.toBe('["callServer","exec","handle","runCode","runTool","start"]');
});

test('that a plugin writes too much into the log is said of all its calls, and not of the one that has begun to', async () => {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
  const execute = async (_input: unknown, { logger }: ToolContext) => {
    for (let count = 0; count < 3; count += 1) logger.info('x'.repeat(600_000));
    return 'done';
  };
  const call = setUpCall({ isolation: 'host', execute }, NO_SERVICES, undefined, {}, log);
  await call.propose();
  await call.worker().execute();
  const notice = lines.map((line) => JSON.parse(line) as { msg: string }).find(({ msg }) => msg.includes('within a minute'));
  expect(notice).toEqual({ level: 40, plugin: 'test', tenantId: 'tenant', msg: expect.any(String) as string });
});

describe('what a tool says before it has its result', () => {
  test('is told to the user and to the model once, however often the call is attached to', async () => {
    const gate: { open?: () => void } = {};
    let runs = 0;
    const call = setUpCall({
      async execute(_input, { send, note }) {
        runs += 1;
        await send('Half way.');
        await send({ type: 'image', mediaType: 'image/png', data: 'AAAA' });
        await note('It rains.', { wake: true });
        await note('It pours.', { wake: true });
        if (runs === 1) await new Promise<void>((resolve) => (gate.open = resolve));
        return 'done';
      },
    });
    await call.propose();
    const first = call.worker();
    const attached = first.execute();
    await until(() => gate.open !== undefined);
    await call.worker().execute();
    gate.open?.();
    await attached;
    expect(runs).toBe(2);
    const sent = call.events.flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
    expect(sent).toEqual([
      { type: 'text', text: 'Half way.' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    ]);
    const notes = [...call.transcript.values()].flatMap((entry) => (entry.role === 'note' ? [entry.text] : []));
    expect(notes).toEqual([
      'test:tool said to the user: Half way.',
      'test:tool said to the user: [image image/png]',
      'From test:tool: It rains.',
      'From test:tool: It pours.',
    ]);
    // The conversation knows by the call that it is the same wish.
    const wish = ['conv_1', 'wake', { callId: 'call_1' }];
    expect(call.signals).toEqual([wish, wish]);
  });

  test('is kept without what would be a part of each prompt', async () => {
    const long = 'n'.repeat(100_000);
    const call = setUpCall({
      async execute(_input, { send }) {
        await send({ type: 'text', text: 'Hello.', extra: long } as ContentPart);
        await send({ type: 'image', mediaType: long, data: 'AAAA' });
        await send({ type: 'file', mediaType: 'text/plain', name: long, data: 'AAAA' });
        return 'done';
      },
    });
    await call.propose();
    await call.worker().execute();
    const sent = call.events.filter(({ type }) => type === 'message.sent');
    expect(sent).toHaveLength(3);
    expect(JSON.stringify([sent, [...call.transcript.values()]]).length).toBeLessThan(5_000);
  });

  test('wakes nothing when the conversation is closed', async () => {
    const call = setUpCall({
      async execute(_input, { note }) {
        await note('It rains.', { wake: true });
        return 'done';
      },
    });
    call.conversation.over = true;
    await call.propose();
    await call.worker().execute();
    expect(call.resultText()).toBe('done');
  });

  test('is dropped once its time is over', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const call = setUpCall({
      isolation: 'host',
      execute: (_input, { send, signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            late = send('too late').catch((error: unknown) => error);
          });
        }),
    });
    await call.propose();
    await call.worker().execute({ timeoutMs: 20 });
    expect(await late).toMatchObject({ code: 'INTERRUPTED' });
    expect(call.typesOf()).not.toContain('message.sent');
  });

  test('has to be a part that can be shown', async () => {
    const said = run(async ({ send }) => {
      await send({ type: 'video' } as never);
      return 'sent';
    });
    await expect(said).resolves.toBe('test:tool returned a message with /type "video"; known are text, image and file. Correct the plugin.');
  });
});

describe('a file that a tool puts into the sandbox', () => {
  const bytes = new Uint8Array([104, 105]);

  test('lies in the directory of files under its own name, wherever else it was asked to lie', async () => {
    await expect(run(async ({ files }) => files.put({ bytes, name: 'a.txt' }))).resolves.toBe('/home/user/files/a.txt');
    await expect(run(async ({ files }) => files.put({ bytes, name: 'a' }, { name: 'b', directory: 'x/../y' }))).resolves.toBe('/home/user/y/b');
  });

  test.each(['../x', 'a/b', '..', '', 'a\0b', 'a\\b'])('has a name that is one part of a path: %j', async (name) => {
    await expect(run(async ({ files }) => files.put({ bytes, name }))).resolves.toContain('is no plain file name; use one without / and \\');
  });

  test('comes from a URL by the fetch of the permissions', async () => {
    const asked: string[] = [];
    const services: PluginServices = {
      ...NO_SERVICES,
      fetchFor: (hosts) => async (url) => {
        asked.push(`${hosts.join()} ${String(url)}`);
        return String(url).endsWith('gone') ? new Response('', { status: 404 }) : new Response('hi');
      },
    };
    const declared = { permissions: { network: ['files.example'] } };
    const url = 'https://files.example/a/report.pdf?x=1';
    await expect(run(async ({ files }) => files.put({ url }), services, declared)).resolves.toBe('/home/user/files/report.pdf');
    expect(asked).toEqual([`files.example ${url}`]);
    await expect(run(async ({ files }) => files.put({ url: 'https://files.example/gone' }), services, declared)).resolves.toContain('the server answered 404');
  });

  test('comes from the host only out of the directory that the operator names, links followed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'longshore-files-'));
    const put = (hostPath: string, filesDirectory?: string) =>
      run(async ({ files }) => files.put({ hostPath }), { ...NO_SERVICES, ...(filesDirectory !== undefined && { filesDirectory }) });
    try {
      const allowed = join(directory, 'allowed');
      await mkdir(allowed);
      await writeFile(join(allowed, 'a.txt'), 'hi');
      await mkdir(join(directory, 'allowed-not'));
      await writeFile(join(directory, 'allowed-not', 'b.txt'), 'secret');
      await symlink(join(directory, 'allowed-not', 'b.txt'), join(allowed, 'link'));
      await expect(put(join(allowed, 'a.txt'), allowed)).resolves.toBe('/home/user/files/a.txt');
      await expect(put('a.txt', allowed)).resolves.toBe('/home/user/files/a.txt');
      for (const path of [join(allowed, 'link'), '../allowed-not/b.txt', join(directory, 'allowed-not', 'b.txt'), 'none', '/etc/passwd']) {
        await expect(put(path, allowed)).resolves.toBe(`${path}: there is no such file that tools may forward`);
      }
      await expect(put(join(allowed, 'a.txt'))).resolves.toContain('its operator may set LONGSHORE_FILES to a directory');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test('a tool that throws nothing in particular still fails with words', async () => {
  await expect(run(async () => Promise.reject(undefined as never))).resolves.toBe('test:tool failed: it threw an error without a message');
});
