import type { JsonObject } from '../../../src/contracts/json.ts';
import type { SandboxUse } from '../../../src/contracts/sub-agents/sandbox-use.ts';
import type { ScriptedAgent } from '../support.ts';
import { calls, mark, say, show } from './steps.ts';

/** Of each task, in tokens and steps. */
export const TASK = { tokens: 20_000, steps: 12 };
export const TREE_TOKENS = 100_000;
/** Conversations of a tree below its root. */
export const BELOW_ROOT = 7;
export const CLIENT_CALLS = 3;
/** Words that differ: lines that are alike are shown to a model as one. */
const BERTHS = ['anchor', 'bollard', 'crane', 'dock', 'ebb'];

/** What is written into plan and memory, one after the other. */
export const ENTRIES = ['fog', 'gale', 'hail'];

const give = (agent: string): [string, JsonObject] => ['agents:run', { agent, task: 'Work.' }];
const use = (agent: string, sandbox: SandboxUse) => ({ agent, description: 'Works.', sandbox, budget: TASK });
const leaf = (label: string): ScriptedAgent => ({ steps: [calls(mark(label)), calls(show), say(`${label} has worked.`)] });

/** What the commands that are judged print; it is not in the commands. */
export const ONLY_IN_OUTPUT = 'ONLY IN OUTPUT';
const judged = (label: string) => `echo only in output | tr a-z A-Z; sleep 0.3; echo ${label} >> log; sleep 0.3`;
export const JUDGED_COMMANDS = [judged('judged-1'), judged('judged-2'), 'sort log'];

const CODE = `
from longshore import tools
for berth in ${JSON.stringify(BERTHS)}:
    tools.shell.run(command=f"sleep 0.2; echo {berth} >> log; sleep 0.2")
print("called")
`;

const PLOT = `
class Plot:
    def _repr_png_(self):
        return bytes.fromhex("89504e470d0a1a0a") + b"x" * 9000
Plot()
`;

/** Every feature that a conversation has, each in a kind of conversation. */
export const AGENTS: Record<string, ScriptedAgent> = {
  tree: {
    budget: { tokens: TREE_TOKENS },
    checkpoints: 'turn',
    agents: { sharing: use('sharing', 'shared'), forking: use('forking', 'fork'), alone: use('alone', 'own') },
    steps: [calls(mark('root-1')), calls(give('sharing'), give('forking'), give('alone'), mark('root-2')), calls(show), say('The tree has worked.')],
  },
  sharing: {
    checkpoints: 'step',
    agents: { leaf: use('leaf-shared', 'shared'), copier: use('leaf-copy', 'fork') },
    steps: [calls(mark('sharing')), calls(give('leaf'), give('copier')), say('sharing has worked.')],
  },
  forking: { agents: { leaf: use('leaf-fork', 'shared') }, steps: [calls(mark('forking')), calls(give('leaf')), calls(show), say('forking has worked.')] },
  alone: { agents: { leaf: use('leaf-own', 'shared') }, steps: [calls(mark('alone')), calls(give('leaf')), calls(show), say('alone has worked.')] },
  'leaf-shared': leaf('leaf-shared'),
  'leaf-copy': leaf('leaf-copy'),
  'leaf-fork': leaf('leaf-fork'),
  'leaf-own': leaf('leaf-own'),
  client: {
    clientTools: { count: { description: 'Counts.', timeout: '10m' } },
    steps: [...Array.from({ length: CLIENT_CALLS }, () => calls(['client:count', {}], mark('beside'))), calls(show), say('The client has counted.')],
  },
  long: {
    context: { window: 4000, compactAt: 0.8, keepTurns: 1 },
    // Without usage of its own, a step is as large as its prompt.
    steps: [...BERTHS.map((berth) => calls(['shell:run', { command: `seq 1 900; echo ${berth} >> log` }])), calls(show), say('It was long.')].map(
      ({ calls: made, say: said }) => ({ ...(made && { calls: made }), ...(said !== undefined && { say: said }) }),
    ),
  },
  rewinder: {
    checkpoints: 'turn',
    steps: [calls(mark('first')), say('First.'), calls(show), calls(mark('second')), say('Second.')],
  },
  forker: {
    checkpoints: 'step',
    steps: [calls(mark('first')), say('First.'), calls(mark('second')), calls(show), say('Second.'), calls(mark('third')), calls(show), say('Third.')],
  },
  attacher: {
    steps: [
      calls(['attachments:save', { attachment: 'chart.png', path: 'in/chart.png' }, { isError: false }]),
      calls(['code:run', { language: 'python', code: PLOT, context: 'main' }]),
      calls(mark('attached')),
      calls(['shell:run', { command: 'sha256sum in/chart.png; cat log' }]),
      say('I have saved it.'),
    ],
  },
  writer: {
    plan: true,
    memory: 'user',
    skills: ['./skills/*'],
    steps: [
      ...ENTRIES.flatMap((text, version) => [
        calls(['plan:write', { items: [{ text, status: 'in_progress' }] }], ['memory:write', { path: 'log.md', content: text, version }]),
        calls(['skills:read', { skill: 'tide-tables' }, { isError: false }], mark(text)),
        calls(['shell:run', { command: 'python3 .longshore-skills/tide-tables/scripts/passage.py 5' }, { exitCode: 0 }]),
      ]),
      calls(show),
      say('All is written.'),
    ],
  },
  paused: { steps: [...BERTHS.map((berth) => calls(mark(berth))), calls(show), say('I was paused.')] },
  judged: {
    approval: [{ tool: 'shell:run', decide: 'auto' }],
    steps: [...JUDGED_COMMANDS.map((command) => calls(['shell:run', { command }, { exitCode: 0 }])), say('It was judged.')],
  },
  form: {
    output: { type: 'object', properties: { high: { type: 'string' } }, required: ['high'] },
    steps: [calls(mark('form')), calls(show), say('{"low": "18:20"}'), say('{"high": "12:04"}')],
  },
  // Its messages say what their answers have to fit.
  asked: {
    steps: [
      calls(mark('asked-for')),
      say('{"low": "18:20"}'),
      say('{"high": "12:04"}'),
      say('It is high at noon.'),
      calls(show),
      say('{"high": "12:04"}'),
      say('{"low": "18:20"}'),
    ],
  },
  asking: {
    approval: [{ tool: 'shell:run', decide: 'ask' }],
    steps: [calls(mark('asked-1'), mark('asked-2')), calls(show), say('It was allowed.')],
  },
  remembering: {
    approval: [{ tool: 'shell:run', decide: 'ask' }],
    steps: [calls(mark('one')), say('First.'), calls(mark('two')), say('Second.'), calls(mark('three')), calls(show), say('Third.')],
  },
  coder: { steps: [calls(['code:run', { language: 'python', code: CODE }, { stdout: '/called/' }]), calls(show), say('The code has worked.')] },
};

/** The lines that the commands of a conversation have left when it shows them, sorted. Of a copy, only what it has for certain, and nothing twice. */
export const LINES: Record<string, { exactly?: string[]; atLeast?: string[] }> = {
  tree: { exactly: ['leaf-shared', 'root-1', 'root-2', 'sharing'] },
  forking: { atLeast: ['forking', 'leaf-fork', 'root-1'] },
  alone: { exactly: ['alone', 'leaf-own'] },
  'leaf-shared': { atLeast: ['leaf-shared', 'root-1', 'sharing'] },
  'leaf-copy': { atLeast: ['leaf-copy', 'root-1', 'sharing'] },
  'leaf-fork': { atLeast: ['forking', 'leaf-fork', 'root-1'] },
  'leaf-own': { exactly: ['alone', 'leaf-own'] },
  client: { exactly: Array.from({ length: CLIENT_CALLS }, () => 'beside') },
  long: { exactly: BERTHS },
  judged: { exactly: ['judged-1', 'judged-2'] },
  writer: { exactly: ENTRIES },
  paused: { exactly: BERTHS },
  form: { exactly: ['form'] },
  asked: { exactly: ['asked-for'] },
  remembering: { exactly: ['one', 'two', 'three'] },
  toolsmith: { exactly: ['worked'] },
  asking: { exactly: ['asked-1', 'asked-2'] },
  coder: { exactly: BERTHS },
};
