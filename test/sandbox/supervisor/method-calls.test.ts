import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MethodCall } from '../../../src/sandbox/api/methods.ts';
import { LocalSupervisor, until } from './local-supervisor.ts';
import { echo, RICH_SPECS, runJavascript, runPython, serveCalls } from './method-guests.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
});

/** What a program printed, line by line, and the calls that it made. */
async function linesOf(run: typeof runPython, code: string): Promise<{ lines: string[]; calls: MethodCall[] }> {
  const { onMethodCall, calls } = serveCalls(supervisor, echo, RICH_SPECS);
  const { stdout, stderr } = await run(supervisor, code, { onMethodCall });
  expect(stderr.text).toBe('');
  return { lines: stdout.text.trimEnd().split('\n'), calls };
}

const NO_CALL = 'which no call can carry; leave it out, or pass the path of a file';
const NOT_JSON = 'TOOL_ARGUMENTS_INVALID board:post: the arguments are not JSON:';

describe('Python', () => {
  test('has hints for the types of arguments and results, and tells what ends the program', async () => {
    const { lines } = await linesOf(
      runPython,
      `
import inspect, typing
from longshore import tools
print(inspect.signature(tools.board.post))
print(inspect.signature(tools.board.remark), inspect.signature(tools.board.ask))
print(typing.get_type_hints(tools.board.post)['level'])
print(tools.board.ask.__doc__.split('\\n'))
print(tools.board.post.__doc__.split('\\n')[2:])
`,
    );
    expect(lines).toEqual([
      '(value, at: float | None = None, tags: list[str] = None, level: str = None) -> dict',
      '(**more) -> str (about=None)',
      "<class 'str'>",
      "['Asks.', '', 'Args:', '    about (str): What.', '', 'The program ends at this call; what it tells goes to the model.']",
      "['Args:', '    at (number or null, optional):', '    value (any):', '    tags (array, optional): Words.', '    level (any, optional):  One of [\"low\", \"high\"].']",
    ]);
  });

  test('leaves out what is None and cannot be, and passes it where it can', async () => {
    const { lines } = await linesOf(runPython, 'print(post(None, None, None, None)["given"])');
    expect(lines).toEqual(["{'value': None, 'at': None}"]);
  });

  test('is told the way to what JSON cannot carry, and what to pass instead, before anything is sent', async () => {
    const { lines, calls } = await linesOf(
      runPython,
      `
import datetime, math, pathlib
from longshore import tools, InvalidArguments
around = []
around.append(around)
values = [math.nan, {'a': [1.5, -math.inf]}, b'x', datetime.datetime(2026, 1, 2), {1}, pathlib.Path('a'), object(), 2**53, {'n': 10**400}, 'a\\ud800', 'a\\0', {'\\0': 1}, around]
for value in values:
    try:
        tools.board.post(value)
    except InvalidArguments as error:
        print(error.code, str(error)[:150])
`,
    );
    expect(lines.map((line) => line.replace(`${NOT_JSON} /value`, ''))).toEqual([
      ': JSON has no nan; pass None or a text',
      '/a/1: JSON has no -inf; pass None or a text',
      ': bytes is no JSON; pass base64.b64encode(it).decode(), or the path of a file',
      ': datetime is no JSON; pass it as a text, by .isoformat()',
      ': set is no JSON; pass it as a list',
      ': PosixPath is no JSON; pass str(it)',
      ': object is no JSON; pass a dict, list, text, number, True, False or None',
      expect.stringMatching(/^: 9007199254740992 is beyond 9007199254740991, up to which whole numbers/),
      expect.stringMatching(/^\/n: 10{39} is beyond/),
      ': half a character at 1, which is no text',
      `: a NUL character at 1, ${NO_CALL}`,
      `: a NUL character at 0 of a name, ${NO_CALL}`,
      '/0: it contains itself',
    ]);
    expect(calls).toEqual([]);
  });

  test('calls from hundreds of threads and from other processes, where exceptions come back whole', async () => {
    const { lines } = await linesOf(
      runPython,
      `
import concurrent.futures, multiprocessing
from longshore import tools, InvalidArguments

def post(n):
    return tools.board.post(n)['given']['value']

def post_nothing(n):
    return tools.board.post(object())

with concurrent.futures.ThreadPoolExecutor(200) as threads:
    print(list(threads.map(post, range(600))) == list(range(600)))
with multiprocessing.Pool(4) as processes:
    print(processes.map(post, range(8)))
    try:
        processes.map(post_nothing, [1])
    except InvalidArguments as error:
        print(type(error), error.code)
`,
    );
    expect(lines).toEqual(['True', '[0, 1, 2, 3, 4, 5, 6, 7]', "<class 'longshore.InvalidArguments'> TOOL_ARGUMENTS_INVALID"]);
  });
});

describe('JavaScript', () => {
  test('calls tools by bare names, with one object or in order, and other names mean what they always do', async () => {
    const { lines } = await linesOf(
      runJavascript,
      `
const shown = ({ tool, given }) => console.log(tool, JSON.stringify(given));
shown(await lookup('Oslo', 2));
shown(await weather_lookup({ city: 'Bern' }));
shown(await tools.board.remark());
{
  const post = () => 'its own';
  console.log(post(), typeof lookup, typeof nothing, globalThis instanceof Object, globalThis.toString());
}
for (const attempt of [() => nothing(), () => lookup('a', 1, 2), () => tools.add.to('x')]) {
  try {
    await attempt();
  } catch (error) {
    console.log(error.name, error.message);
  }
}
`,
    );
    expect(lines).toEqual([
      'weather:lookup {"city":"Oslo","days":2}',
      'weather:lookup {"city":"Bern"}',
      'board:remark {}',
      'its own function undefined true [object global]',
      'ReferenceError nothing is not defined',
      'TypeError weather:lookup was given 3 arguments, and takes 2 at most: city, days. Pass one object with the arguments by their names',
      expect.stringMatching(/^ToolError no tool add\.to; there are weather:lookup, notes:add, /),
    ]);
  });

  test('has the bare names in contexts, too, beside its own', async () => {
    const { onMethodCall } = serveCalls(supervisor, echo, RICH_SPECS);
    const options = { language: 'javascript', contextId: 'names', onMethodCall } as const;
    const run = async (code: string) => (await supervisor.handle.runCode(code, options)).stdout;
    expect(await run("const add = 1; console.log(add, (await lookup('Oslo')).given.city, Math.max(1, 2), typeof nothing);")).toBe('1 Oslo 2 undefined\n');
    expect(await run("console.log(add, (await tools.lookup('Rome')).given.city, [1].map(lookup).length)")).toBe('1 Rome 1\n');
  });

  test('is told the way to what JSON cannot carry, and what to pass instead, before anything is sent', async () => {
    const { lines, calls } = await linesOf(
      runJavascript,
      `
const around = {};
around.self = around;
const values = [NaN, { a: [1.5, -Infinity] }, Buffer.from('x'), new Uint8Array(2), new Map(), new Set(), () => 1, [undefined], 10n, 2n ** 60n, Promise.resolve(1), 'a\\ud800', 'a\\0', { '\\0': 1 }, around];
for (const value of values) await tools.board.post({ value }).catch((error) => console.log(error.code, error.message));
`,
    );
    expect(lines.map((line) => line.replace(`${NOT_JSON} /value`, ''))).toEqual([
      ': JSON has no NaN; pass null or a text',
      '/a/1: JSON has no -Infinity; pass null or a text',
      ": Buffer is no JSON; pass Buffer.from(it).toString('base64'), or the path of a file",
      ": Uint8Array is no JSON; pass Buffer.from(it).toString('base64'), or the path of a file",
      ': Map is no JSON; pass Object.fromEntries(it)',
      ': Set is no JSON; pass [...it]',
      ': JSON has no function',
      '/0: JSON has no undefined; pass null',
      ': JSON has no BigInt; pass Number(it)',
      ': JSON has no BigInt; pass it as a text, since numbers beyond 2 ** 53 are not kept exactly',
      ': Promise is no JSON; await it first',
      ': half a character at 1, which is no text',
      `: a NUL character at 1, ${NO_CALL}`,
      `: a NUL character at 0 of a name, ${NO_CALL}`,
      '/self: it contains itself',
    ]);
    expect(calls).toEqual([]);
  });

  test('a call that is too large is refused alone, and those beside it are answered', async () => {
    const { lines } = await linesOf(
      runJavascript,
      `
const texts = ['a', 'x'.repeat(50_000_000), new Date(0)];
const outcomes = await Promise.allSettled(texts.map((value) => tools.board.post({ value })));
console.log(JSON.stringify(outcomes.map(({ value, reason }) => value?.given.value ?? reason.code)));
const all = await Promise.all(Array.from({ length: 300 }, (_, n) => tools.board.post({ value: n })));
console.log(all.every(({ given }, n) => given.value === n));
`,
    );
    expect(lines).toEqual(['["a","TOO_LARGE","1970-01-01T00:00:00.000Z"]', 'true']);
  });
});

test('a process that outlives the code it came from is told so, of the call that waits and of every other', async () => {
  const { onMethodCall, calls } = serveCalls(supervisor, () => undefined);
  const code = `
from longshore import tools, ToolError
for name in ('waits', 'comes later'):
    try:
        tools['notes:add'](name)
    except ToolError as error:
        print(name, error.code, error, flush=True)
print('over', flush=True)
`;
  const command = 'cat > later.py; setsid python3 later.py > later.log 2>&1 & until [ -e enough ]; do sleep 0.02; done';
  const running = supervisor.handle.run(command, { stdin: code, timeoutMs: 20_000, onMethodCall });
  await until(() => calls.length === 1);
  writeFileSync(join(supervisor.home, 'enough'), '');
  expect(await running).toMatchObject({ status: 'exited', exitCode: 0 });
  const log = () => readFileSync(join(supervisor.home, 'later.log'), 'utf8');
  await until(() => log().includes('over'));
  expect(log().split('\n')).toEqual([
    'waits NOT_ALLOWED the code that was allowed to call tools has ended; processes that it left behind get no answers',
    'comes later NOT_ALLOWED this token is not known; the code that it was given to has ended, or it was made up',
    'over',
    '',
  ]);
  expect(calls).toHaveLength(1);
});
