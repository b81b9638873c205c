import { LocalSupervisor } from './local-supervisor.ts';
import { echo, runJavascript, runPython, serveCalls } from './method-guests.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
});

const SPECS = [
  { id: 'a:lookup' },
  { id: 'b:lookup' },
  { id: 'aaa:roll' },
  { id: 'dice:roll', bare: true },
  { id: 'zzz:roll' },
  { id: 'a-b:c' },
  { id: 'a:b_c' },
].map((spec) => ({ description: '', parameters: { type: 'object', properties: { of: { type: 'string' } } }, ...spec }));
const LOOKUP = "lookup is ambiguous, it could be any of a:lookup, b:lookup; call tools['a:lookup'](…) or tools['b:lookup'](…)";

async function linesOf(run: typeof runPython, code: string): Promise<string[]> {
  const { stdout, stderr } = await run(supervisor, code, serveCalls(supervisor, echo, SPECS));
  expect(stderr.text).toBe('');
  return stdout.text.trimEnd().split('\n');
}

function linesInContext(language: 'python' | 'javascript', specs = SPECS) {
  return async (code: string) => {
    const { stdout, error } = await supervisor.handle.runCode(code, { language, contextId: 'names', ...serveCalls(supervisor, echo, specs) });
    expect(error).toBeUndefined();
    return stdout.trimEnd().split('\n');
  };
}

const PYTHON = `
for attempt in (lambda: lookup('x'), lambda: tools.lookup('x'), lambda: a_b_c('x'), lambda: nothing('x')):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
print(roll('x')['tool'], tools.roll('x')['tool'], zzz_roll('x')['tool'], tools['b:lookup']('x')['tool'], b_c('x')['tool'])
`;
const IN_PYTHON = [
  `NameError ${LOOKUP.replace('lookup', "name 'lookup'")}`,
  `UnknownTool ${LOOKUP.replace('lookup', "name 'lookup'")}`,
  "NameError name 'a_b_c' is ambiguous, it could be any of a-b:c, a:b_c; call tools['a-b:c'](…) or tools['a:b_c'](…)",
  "NameError name 'nothing' is not defined",
  'dice:roll dice:roll zzz:roll b:lookup a:b_c',
];

const JAVASCRIPT = `
for (const attempt of [() => lookup('x'), () => tools.lookup('x'), () => a_b_c('x'), () => nothing('x')]) {
  try {
    await attempt();
  } catch (error) {
    console.log(error.name, error.message);
  }
}
console.log((await roll('x')).tool, (await tools.roll('x')).tool, (await zzz_roll('x')).tool, (await tools['b:lookup']('x')).tool, (await b_c('x')).tool);
`;
const IN_JAVASCRIPT = [
  `ReferenceError ${LOOKUP}`,
  `ToolError ${LOOKUP}`,
  "ReferenceError a_b_c is ambiguous, it could be any of a-b:c, a:b_c; call tools['a-b:c'](…) or tools['a:b_c'](…)",
  'ReferenceError nothing is not defined',
  'dice:roll dice:roll zzz:roll b:lookup a:b_c',
];

describe('a name that several tools have means the one that is documented by it, and else names them all', () => {
  test('in a Python program', async () => {
    expect(await linesOf(runPython, PYTHON)).toEqual(IN_PYTHON);
  });

  test('in a JavaScript program', async () => {
    expect(await linesOf(runJavascript, JAVASCRIPT)).toEqual(IN_JAVASCRIPT);
  });

  test.each([
    ['python', PYTHON, IN_PYTHON],
    ['javascript', JAVASCRIPT, IN_JAVASCRIPT],
  ] as const)('in a context of %s', async (language, code, lines) => {
    expect(await linesInContext(language)(code)).toEqual(lines);
  });
});

test('an uncaught call of it shows the names in the traceback, and the line', async () => {
  const python = await runPython(supervisor, "x = 1\nlookup('x')", serveCalls(supervisor, echo, SPECS));
  expect(python.stderr.text).toContain('File "<stdin>", line 2, in <module>\n');
  expect(python.stderr.text.trimEnd().split('\n').at(-1)).toBe(`NameError: ${LOOKUP.replace('lookup', "name 'lookup'")}`);
  const javascript = await runJavascript(supervisor, "const x = 1;\nawait lookup('x');", serveCalls(supervisor, echo, SPECS));
  expect(javascript.stderr.text).toContain(`ReferenceError: ${LOOKUP}`);
});

test.each([
  ['python', "print(lookup('x')['tool'])", "lookup = lambda of: {'tool': of}"],
  ['javascript', "console.log((await lookup('x')).tool)", 'var lookup = (of) => ({ tool: of });'],
] as const)(
  'what was ambiguous in a context of %s means the one tool that is left, and a definition of its own counts before all',
  async (language, call, define) => {
    expect(
      await linesInContext(
        language,
        SPECS.filter(({ id }) => id !== 'a:lookup'),
      )(call),
    ).toEqual(['b:lookup']);
    const both = linesInContext(language);
    await both(define);
    expect(await both(call)).toEqual(['x']);
  },
);
