import { createHandle } from '../../../src/sandbox/handle/create-handle.ts';
import type { SupervisorConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { type Asked, ENDED, ScriptedSupervisor } from './scripted-supervisor.ts';

const spec = { execId: 'one', run: { command: 'x' }, cwd: '.', env: {}, timeoutMs: 0, maxOutputBytes: 1, stdin: 'empty' } as const;
const follow = { previewBytes: 10 };

/** Everything is answered as far as data goes; execs named `innocent` wait for their end until the test gives it. */
function scripted() {
  const ends: (() => void)[] = [];
  const supervisor = new ScriptedSupervisor(({ operation, fields, send }: Asked) => {
    switch (operation) {
      case 'attach':
        ends.push(() => send('end', ENDED));
        return send('reply', { startedAt: 'now' });
      case 'run':
        send('reply', { startedAt: 'now' });
        return send(fields['execId'] === 'errors' ? 'errorData' : 'data', 'output');
      case 'calls':
        return send('data', '{"number":1,"tool":"a.b","arguments":{},"repeated":false}\n');
      case 'watch':
        return send('data', '{"type":"ready","path":"/x"}\n');
      case 'packDirectory':
        return send('data', 'tar');
      case 'tunnel.serve':
        return send('data', '{"tunnelId":"t1"}\n');
      case 'unpackDirectory':
        return send('reply', { accepted: 0 });
      default:
        return send('error', { code: 'INTERNAL', problem: operation });
    }
  });
  return { supervisor, endInnocent: () => ends.forEach((end) => end()) };
}

const signal = new AbortController().signal;
const doNothing = (): void => undefined;
/** Every function that a caller gives, and that is called while frames are taken. */
const PLACES: Record<string, (connection: SupervisorConnection, fault: () => never) => Promise<unknown>> = {
  'a reader of stdout': (connection, fault) => connection.run(spec, { ...follow, onStdout: fault }),
  'a reader of stderr': (connection, fault) => connection.run({ ...spec, execId: 'errors' }, { ...follow, onStderr: fault }),
  'a reader that answers with a promise': (connection, fault) => connection.run(spec, { ...follow, onStdout: async () => fault() }),
  'a reader of calls': (connection, fault) => connection.calls('one', { onCall: fault }),
  'a reader of a watch': (connection, fault) => connection.watch('/x', { recursive: false, signal, onEvent: fault, onRepeat: doNothing }),
  'a reader of a tar': (connection, fault) => connection.packDirectory('/x', { onData: fault, onRepeat: doNothing }),
  'a tunnel': (connection, fault) => connection.serveTunnels({ port: 1, signal, onTunnel: fault }),
  'the opening of a source': (connection, fault) => connection.unpackDirectory('/x', fault),
  'a source': (connection, fault) =>
    connection.unpackDirectory('/x', async function* () {
      yield Buffer.from('some');
      fault();
    }),
};
/** Of every kind that code could take for something else. */
const FAULTS = [
  new RangeError('Maximum call stack size exceeded'),
  new TypeError('x is not a function'),
  new SyntaxError('Unexpected end of JSON input'),
  failure('SANDBOX_PROTOCOL', { sandboxId: 'another', problem: 'said of another sandbox' }),
  failure('SANDBOX_UNREACHABLE', { sandboxId: 'another', problem: 'said of another sandbox' }),
];

test.each(Object.keys(PLACES))('an error of %s ends its own call, with that error, and neither the stream nor another call', async (place) => {
  for (const fault of FAULTS) {
    const { supervisor, endInnocent } = scripted();
    using _ = supervisor;
    const innocent = supervisor.connection.attach('innocent', follow);
    const guilty = PLACES[place]!(supervisor.connection, () => {
      throw fault;
    });
    await expect(guilty).rejects.toBe(fault);
    await supervisor.connection.ping();
    expect(supervisor.cancelled).toHaveLength(1);
    endInnocent();
    expect(await innocent).toEqual(ENDED);
    expect(supervisor.streams).toBe(1);
  }
});

test('an error of a function that is called between two streams ends its own call, and the others are sent again', async () => {
  for (const fault of FAULTS) {
    const cuts: (() => void)[] = [];
    using supervisor = new ScriptedSupervisor(({ operation, send, cut }) => {
      if (cuts.push(cut) > 2 && operation === 'attach') send('end', ENDED);
    });
    const guilty = supervisor.connection.packDirectory('/x', {
      onData: () => Promise.resolve(),
      onRepeat() {
        throw fault;
      },
    });
    const innocent = supervisor.connection.attach('innocent', follow);
    const refused = expect(guilty).rejects.toBe(fault);
    await supervisor.connection.ping();
    cuts[0]!();
    await refused;
    expect(await innocent).toEqual(ENDED);
    expect(supervisor.streams).toBe(2);
  }
});

test('a ping is answered by a supervisor, and not by the end of the stream', async () => {
  const streams: number[] = [];
  using supervisor = new ScriptedSupervisor(
    () => undefined,
    (stream, cut) => {
      streams.push(stream);
      if (stream < 3) cut();
    },
  );
  await supervisor.connection.ping();
  expect(streams).toEqual([1, 2, 3]);
});

test('a line that breaks the protocol ends the connection for good, in a list as in a stream', async () => {
  for (const lines of ['{"no":"exec"}\n', 'no JSON\n', '\n', '[]\n', `"${'x'.repeat(100)}"\n`]) {
    using supervisor = new ScriptedSupervisor(({ send }) => {
      send('data', lines);
      send('end', {});
    });
    await expect(supervisor.connection.list()).rejects.toMatchObject({ code: 'SANDBOX_PROTOCOL' });
    await expect(supervisor.connection.ping()).rejects.toMatchObject({ code: 'SANDBOX_PROTOCOL' });
  }
});

describe('input of a command', () => {
  const started = (signals: string[]) =>
    new ScriptedSupervisor(({ operation, fields, send }) => {
      if (operation === 'run') {
        send('reply', { startedAt: 'now' });
        if (fields['stream'] === true) send('data', 'output');
      } else if (operation === 'input') {
        send('reply', { accepted: Number(fields['size']) });
        send('end', {});
      } else {
        signals.push(String(fields['signal']));
        send('end', { signalled: true });
      }
    });

  test.each(FAULTS)('a source that fails ends the command that waits for the rest, whatever its error: %s', async (fault) => {
    const signals: string[] = [];
    using supervisor = started(signals);
    const source = async function* () {
      yield Buffer.from('half');
      throw fault;
    };
    await expect(createHandle(supervisor.connection, 'sbx_scripted').run('cat', { stdin: source() })).rejects.toBe(fault);
    expect(signals).toEqual(['SIGKILL']);
  });

  test.each(FAULTS)('a reader of output that fails lets the command run on, with input as without: %s', async (fault) => {
    for (const stdin of [undefined, 'text', (async function* () {})()]) {
      const signals: string[] = [];
      using supervisor = started(signals);
      const onStdout = () => {
        throw fault;
      };
      const handle = createHandle(supervisor.connection, 'sbx_scripted');
      await expect(handle.run('cat', { onStdout, ...(stdin !== undefined && { stdin }) })).rejects.toBe(fault);
      expect(signals).toEqual([]);
    }
  });
});
