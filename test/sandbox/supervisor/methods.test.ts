import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { CommandResult, MethodAnswer, MethodCall, RunOptions } from '../../../src/sandbox/sandbox.ts';
import { LocalSupervisor, until } from './local-supervisor.ts';

const SPECS = [
  {
    id: 'weather:lookup',
    description: 'Weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Which city.' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
  { id: 'notes:add', description: 'Adds a note.', parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
];

let supervisor: LocalSupervisor;
let socketPath: string;

beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
  socketPath = join(supervisor.directory, 'tools', 'tools.sock');
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
});

type Reply = (call: MethodCall) => MethodAnswer | undefined | Promise<MethodAnswer | undefined>;

/** Answers as a worker would: the list of tools itself, everything else by `reply`; without a reply the call stays open. */
function serve(reply: Reply): { calls: MethodCall[]; onMethodCall: (call: MethodCall) => void } {
  const calls: MethodCall[] = [];
  const take = async (call: MethodCall) => {
    const answer = call.tool === 'longshore:tools' ? { ok: SPECS } : await reply(call);
    if (answer) await supervisor.handle.answerMethod(call.execId, call.number, answer);
  };
  return {
    calls,
    onMethodCall(call) {
      if (call.tool !== 'longshore:tools') calls.push(call);
      void take(call);
    },
  };
}

function python(code: string, options: RunOptions): Promise<CommandResult> {
  return supervisor.handle.run('exec python3 "$LONGSHORE_GUEST/run_python.py" -', { stdin: code, timeoutMs: 20_000, ...options });
}

const echo: Reply = ({ tool, arguments: given }) => ({ ok: { tool, given } });

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
