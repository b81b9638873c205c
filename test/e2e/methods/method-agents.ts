import { fileURLToPath } from 'node:url';
import type { ScriptedStep } from '../support.ts';

const LAB = fileURLToPath(new URL('../fixtures/lab', import.meta.url));

function program(code: string, more: object = {}): ScriptedStep {
  return { call: 'code:run', with: { language: 'python', code, ...more } };
}

/** An agent whose code may call the lab; some of it only with an approval. */
function agent(steps: ScriptedStep[], more: object = {}) {
  const approval = [
    { tool: 'lab:append', decide: 'ask' },
    { tool: '*', decide: 'allow' },
  ];
  return { plugins: [LAB], tools: ['shell:*', 'code:*', 'files:*', 'lab:*'], approval, steps, ...more };
}

const WAITS = `
from longshore import tools
before = tools.lab.look(key='a')['key']
print('asking', flush=True)
answer = tools.lab.append(line='one')
print(before, answer['written'])
`;

const EACH_KIND = `
import json, inspect
from longshore import tools, ToolError, InvalidArguments, ToolDenied, UnknownTool
print(look('bare')['key'], tools.lab.look(key='k', depth=3)['depth'], inspect.signature(tools.lab.look), tools.lab.look.__doc__.splitlines()[0])
for call in (lambda: tools['lab:look'](key=7), tools.lab.fail, lambda: tools.lab.nothing(), lambda: shell_kill(execId='x'), lambda: tools.lab.long(size=1_000_001)):
    try:
        call()
    except ToolError as error:
        print(type(error).__name__, error.code, str(error)[:110])
print(remark(line='seen'), len(tools.lab.long(size=900_000)))
print(json.dumps({"outcome": "concluded", "concludedBy": 1}))
`;

const CONCLUDES = `
try:
    print('before', flush=True)
    lab_search(query='cats')
    print('after')
except BaseException as error:
    print('caught', error)
finally:
    print('at the end')
`;

const DRAWS_IN_CONTEXT = 'kept = 5\ntools.lab.draw()\nkept = 6';

const TOGETHER = `
import asyncio
from longshore import tools, ToolDenied
async def one(n):
    try:
        return (await tools.aio.lab.append(line=str(n)))['written']
    except ToolDenied as error:
        return f'denied {error}'
async def main():
    print(await asyncio.gather(*(one(n) for n in range(4)), one('edit')))
asyncio.run(main())
`;

const JAVASCRIPT = `
import { tools as imported, ToolError } from 'longshore';
console.log((await tools.lab.look({ key: 'js' })).key, (await imported['lab:look']({ key: 'id' })).key, (await imported.look({ key: 'bare' })).key);
console.log((await Promise.all([1, 2, 3].map((n) => tools.lab.remark({ line: String(n) })))).join());
try { await tools.lab.look({}); } catch (error) { console.log(error instanceof ToolError, error.code, error.message); }
`;

const NESTED = `
from longshore import tools
inner = tools.code.run(language='python', code="print(tools.lab.look(key='deep')['key'], tools.lab.remark(line='deep'))")
print(inner['stdout'])
`;

/** For sandboxes whose processes are counted from outside, where those in gVisor cannot be told apart. */
const COUNTED = { runtime: 'runc' };

/** By the name of the agent, what its code does. */
export const METHOD_AGENTS = {
  waits: agent([program(WAITS), { say: 'Done.' }], { sandbox: COUNTED }),
  freezes: agent([program(WAITS), { say: 'Done.' }], { sandbox: { ...COUNTED, idle: { freeze: '200ms' } } }),
  kinds: agent([program(EACH_KIND), { say: 'Done.' }], {
    approval: [
      { tool: 'shell:kill', decide: 'deny' },
      { tool: '*', decide: 'allow' },
    ],
  }),
  concludes: agent([
    program(CONCLUDES),
    program(DRAWS_IN_CONTEXT, { context: 'c' }),
    program('print(kept)', { context: 'c' }),
    { call: 'shell:run', with: { command: 'cat lab.log 2>/dev/null' } },
    { say: 'Done.' },
  ]),
  together: agent([program(TOGETHER), { call: 'shell:run', with: { command: 'sort lab.log' } }, { say: 'Done.' }]),
  elsewhere: agent(
    [
      { call: 'code:run', with: { language: 'javascript', code: JAVASCRIPT } },
      { call: 'code:run', with: { language: 'typescript', code: "const found: { key: string } = await tools.lab.look({ key: 'ts' }); found.key" } },
      { call: 'shell:run', with: { command: `python3 -c "from longshore import tools; print(tools.lab.look(key='sh')['key'])"` } },
      program(NESTED),
      { say: 'Done.' },
    ],
    { approval: [{ tool: '*', decide: 'allow' }] },
  ),
  expires: agent([program("try:\n    append('x')\nexcept Exception as error:\n    print(error)"), { say: 'Done.' }], { approvalTimeout: '300ms' }),
  rests: agent([program("import os\nx = os.getpid()\nprint(append(line='x')['written'], x == os.getpid())"), { say: 'Done.' }], {
    sandbox: { idle: { freeze: '200ms', stop: '1s' } },
  }),
  busy: agent([
    program("import time\nfor n in range(20):\n    remark(line=str(n))\n    time.sleep(0.05)\nprint(open('lab.log').read().split())"),
    { say: 'Done.' },
  ]),
  studies: agent([program('from longshore import tools\nprint(tools.lab.study(milliseconds=4000))'), { say: 'Done.' }]),
  hibernates: agent([program("import os\nx = os.getpid()\nprint(append(line='x')['written'], x == os.getpid())"), { say: 'Done.' }], {
    sandbox: { idle: { freeze: '200ms', hibernate: '1s' } },
  }),
};
