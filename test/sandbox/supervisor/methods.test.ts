import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunOptions } from '../../../src/sandbox/api/commands.ts';
import type { MethodCall } from '../../../src/sandbox/api/methods.ts';
import { LocalSupervisor, until } from './local-supervisor.ts';
import { echo, runPython, serveCalls, type Reply } from './method-guests.ts';

let supervisor: LocalSupervisor;
let socketPath: string;

beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
  socketPath = join(supervisor.directory, 'tools', 'tools.sock');
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
});

const serve = (reply: Reply) => serveCalls(supervisor, reply);
const python = (code: string, options: RunOptions) => runPython(supervisor, code, options);

test('Python calls tools by plugin, by bare name, by id, positionally, and awaits them', async () => {
  const { onMethodCall, calls } = serve(echo);
  const code = `
import asyncio
from longshore import tools
print(tools.weather.lookup(city='Oslo', days=2)['given'])
print(lookup('Rom')['given'], weather_lookup(city='Bern')['tool'], tools['notes:add'](text='hi')['tool'])
async def several():
    return await asyncio.gather(*(tools.aio.weather.lookup(city=str(n)) for n in range(100)))
print([answer['given']['city'] for answer in asyncio.run(several())] == [str(n) for n in range(100)])
`;
  const result = await python(code, { onMethodCall });
  expect(result.stderr.text).toBe('');
  expect(result.stdout.text).toBe("{'city': 'Oslo', 'days': 2}\n{'city': 'Rom'} weather:lookup notes:add\nTrue\n");
  expect(calls).toHaveLength(104);
});

test("signatures and documentation are the tool's own, and what does not fit is told before anything is sent", async () => {
  const { onMethodCall, calls } = serve(echo);
  const code = `
import inspect
from longshore import tools
print(inspect.signature(tools.weather.lookup), tools.weather.lookup.__doc__.splitlines()[0], dir(tools.notes))
try:
    tools.weather.lookup(town='Oslo')
except TypeError as error:
    print(error)
`;
  const { stdout } = await python(code, { onMethodCall });
  expect(stdout.text).toBe("(city: str, days: int = None) Weather of a city. ['add']\nweather:lookup: missing a required argument: 'city'\n");
  expect(calls).toEqual([]);
});

test('a call without an answer is sent again to each worker that attaches, under its number, and only the first answer counts', async () => {
  const first = serve(() => undefined);
  const letGo = new AbortController();
  const execId = 'told-again';
  const code = "print(notes_add(text='x'))";
  const options = { execId, stdin: code, timeoutMs: 20_000 };
  const command = 'exec python3 "$LONGSHORE_GUEST/run_python.py" -';
  const running = supervisor.handle.run(command, { ...options, onMethodCall: first.onMethodCall, signal: letGo.signal });
  await until(() => first.calls.length === 1);
  letGo.abort();
  await expect(running).rejects.toMatchObject({ code: 'DETACHED' });
  const second = serve(async ({ number }) => {
    await supervisor.handle.answerMethod(execId, number, { ok: 'first' });
    return { ok: 'second' };
  });
  const result = await supervisor.handle.run(command, { ...options, onMethodCall: second.onMethodCall });
  expect(result.stdout.text).toBe('first\n');
  expect(second.calls).toEqual([{ ...first.calls[0], repeated: true }]);
});

test("the time that a held call takes is not the code's", async () => {
  const { onMethodCall } = serve(async ({ execId, number }) => {
    expect(await supervisor.handle.holdMethod(execId, number)).toBe(1);
    await sleep(1500);
    return { ok: 'late' };
  });
  const result = await python("print(notes_add(text='x'))", { onMethodCall, timeoutMs: 1000 });
  expect(result).toMatchObject({ status: 'exited', exitCode: 0, stdout: { text: 'late\n' } });
  const looping = await python("notes_add(text='x')\nwhile True: pass", { onMethodCall, timeoutMs: 1000 });
  expect(looping.status).toBe('timeout');
});

test('code that is concluded ends at the call', async () => {
  const { onMethodCall } = serve(async ({ execId, number }) => {
    await supervisor.handle.concludeAt(execId, number);
    return undefined;
  });
  const result = await python("try:\n    notes_add(text='x')\nfinally:\n    print('after', flush=True)", { onMethodCall });
  expect(result).toMatchObject({ status: 'concluded', concludedBy: 2, stdout: { text: '' } });
});

describe('a guest that does not keep to the rules', () => {
  /** A connection of the guest that says whatever it likes. */
  class RawGuest {
    readonly answers: { id: string | null; ok?: unknown; error?: { code: string; message: string } }[] = [];
    closed = false;
    private readonly socket: Socket;
    private incoming = Buffer.alloc(0);

    constructor() {
      this.socket = connect(socketPath);
      this.socket.on('error', () => undefined);
      this.socket.on('close', () => {
        this.closed = true;
      });
      this.socket.on('data', (chunk: Buffer) => {
        this.incoming = Buffer.concat([this.incoming, chunk]);
        while (this.incoming.length >= 4 && this.incoming.length >= 4 + this.incoming.readUInt32BE(0)) {
          const end = 4 + this.incoming.readUInt32BE(0);
          this.answers.push(JSON.parse(this.incoming.toString('utf8', 4, end)) as RawGuest['answers'][number]);
          this.incoming = this.incoming.subarray(end);
        }
      });
    }

    send(body: string | object, announced?: number): void {
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(announced ?? bytes.length);
      this.socket.write(Buffer.concat([length, bytes]));
    }

    async answered(count: number): Promise<RawGuest['answers']> {
      await until(() => this.answers.length >= count);
      return this.answers;
    }

    close(): void {
      this.socket.destroy();
    }
  }

  /** A running exec with its token, for as long as the work takes. */
  async function withToken(reply: Reply, work: (token: string, calls: MethodCall[]) => Promise<void>): Promise<string> {
    const { onMethodCall, calls } = serve(reply);
    const execId = `rules-${Math.random().toString(36).slice(2)}`;
    const running = supervisor.handle.run('echo $LONGSHORE_TOOLS_TOKEN; exec sleep 100', { execId, timeoutMs: 0, onMethodCall });
    await until(async () => (await supervisor.handle.execs()).some((exec) => exec.execId === execId && exec.stdoutBytes > 10));
    const token = supervisor.journal(execId, 'stdout').toString().trim();
    try {
      await work(token, calls);
    } finally {
      await supervisor.handle.kill(execId, 'SIGKILL');
      await running;
    }
    return token;
  }

  const call = { id: 'a', tool: 'notes:add', arguments: { text: 'x' } };
  const codesOf = (answers: RawGuest['answers']) => answers.map(({ id, error }) => [id, error?.code]);

  test('with a forged token, or one whose code has ended, is refused', async () => {
    const guest = new RawGuest();
    const token = await withToken(echo, async (_token, calls) => {
      guest.send({ ...call, token: 'made-up' });
      await guest.answered(1);
      expect(calls).toEqual([]);
    });
    guest.send({ ...call, token, id: 'b' });
    expect(codesOf(await guest.answered(2))).toEqual([
      ['a', 'NOT_ALLOWED'],
      ['b', 'NOT_ALLOWED'],
    ]);
    guest.close();
  });

  test('with a replayed frame is refused, on another connection too', async () => {
    const guest = new RawGuest();
    const other = new RawGuest();
    await withToken(echo, async (token, calls) => {
      guest.send({ ...call, token });
      await guest.answered(1);
      guest.send({ ...call, token });
      other.send({ ...call, token });
      await other.answered(1);
      expect(codesOf([...(await guest.answered(2)), ...other.answers])).toEqual([
        ['a', undefined],
        ['a', 'REPLAYED'],
        ['a', 'REPLAYED'],
      ]);
      expect(calls).toHaveLength(1);
    });
    guest.close();
    other.close();
  });

  test("with another exec's token speaks for that exec: its followers are asked, and its end is the end of the token", async () => {
    const guest = new RawGuest();
    await withToken(echo, async (own, ownCalls) => {
      const others = await withToken(echo, async (token, calls) => {
        guest.send({ ...call, token });
        await guest.answered(1);
        expect([calls.length, ownCalls.length]).toEqual([1, 0]);
        expect(calls[0]?.execId).not.toBe(ownCalls[0]?.execId);
      });
      guest.send({ ...call, token: others, id: 'b' });
      await guest.answered(2);
      guest.send({ ...call, token: own, id: 'c' });
      expect(codesOf(await guest.answered(3))).toEqual([
        ['a', undefined],
        ['b', 'NOT_ALLOWED'],
        ['c', undefined],
      ]);
      expect(ownCalls).toHaveLength(1);
    });
    guest.close();
  });

  test('with what is no call is refused, and __proto__ comes to the worker as the plain key that it is', async () => {
    const guest = new RawGuest();
    await withToken(echo, async (token, calls) => {
      guest.send('{');
      guest.send({ ...call, token, number: 1 });
      guest.send({ ...call, token, id: 'b', arguments: [] });
      guest.send(`{"token":"${token}","id":"c","tool":"notes:add","arguments":{"x":NaN}}`);
      guest.send(`{"token":"${token}","id":"d","tool":"__proto__","arguments":{"__proto__":{"admin":true}}}`);
      expect(codesOf(await guest.answered(5))).toEqual([
        [null, 'MALFORMED'],
        [null, 'MALFORMED'],
        [null, 'TOOL_ARGUMENTS_INVALID'],
        [null, 'MALFORMED'],
        ['d', undefined],
      ]);
      // What no schema allows is judged by the worker.
      expect(calls.map(({ tool, arguments: args }) => [tool, Object.keys(args)])).toEqual([['__proto__', ['__proto__']]]);
    });
    guest.close();
  });

  test('with a giant frame is refused as too large, and no other client is affected', async () => {
    const { onMethodCall, calls } = serve(echo);
    const code = `
from longshore import tools, ToolError
for size in (1_100_000, 900_000):
    try:
        print(len(tools.notes.add(text='x' * size)['given']['text']))
    except ToolError as error:
        print(error.code, str(error)[-30:])
`;
    const result = await python(code, { onMethodCall });
    expect(result.stdout.text).toBe('TOO_LARGE ass the path of a file instead\n900000\n');
    expect(calls).toHaveLength(1);
    const guest = new RawGuest();
    guest.send('', 0xffffffff);
    expect((await guest.answered(1))[0]?.error?.code).toBe('TOO_LARGE');
    await until(() => guest.closed);
  });

  test('with arguments that are nested deeply or have many keys is told so, and the connection to the worker goes on', async () => {
    const guest = new RawGuest();
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    await withToken(echo, async (token, calls) => {
      const send = (id: string, value: string) => guest.send(`{"token":"${token}","id":"${id}","tool":"notes:add","arguments":{"x":${value}}}`);
      send('a', nested(498));
      send('b', nested(499));
      send('c', `[${'{},'.repeat(210_000)}{}]`);
      guest.send(nested(100_000));
      send('d', JSON.stringify('{[:'.repeat(10_000)));
      // Refusals come at once, answers when the worker has given them.
      expect(codesOf(await guest.answered(5)).toSorted(([one], [other]) => String(one).localeCompare(String(other)))).toEqual([
        ['a', undefined],
        ['b', 'TOO_LARGE'],
        ['c', 'TOO_LARGE'],
        ['d', undefined],
        [null, 'MALFORMED'],
      ]);
      expect(calls).toHaveLength(2);
    });
    guest.close();
  });

  test('with a flood finds no more than 64 calls taken at once, and all of it is answered in the end', async () => {
    const answers: (() => void)[] = [];
    const held: Reply = (call) => new Promise((resolve) => answers.push(() => resolve(echo(call))));
    await withToken(held, async (token, calls) => {
      const guest = new RawGuest();
      for (let n = 0; n < 1000; n += 1) guest.send({ token, id: `n${n}`, tool: 'notes:add', arguments: { n } });
      await until(() => calls.length === 64);
      await supervisor.handle.execs();
      expect(calls).toHaveLength(64);
      while (guest.answers.length < 1000) {
        for (const answer of answers.splice(0)) answer();
        await sleep(1);
      }
      expect(new Set(guest.answers.map(({ id }) => id))).toEqual(new Set(Array.from({ length: 1000 }, (_, n) => `n${n}`)));
      expect(guest.answers).toHaveLength(1000);
      guest.close();
    });
  });
});
