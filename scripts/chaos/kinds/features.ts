import { fileURLToPath } from 'node:url';
import { call, calls, give, mark, show, TASK, type Kinds } from './kinds.ts';

const SERVER = fileURLToPath(new URL('../programs/mark-server.cjs', import.meta.url));
const PYTHON = fileURLToPath(new URL('../python-plugin', import.meta.url));
const IN_SANDBOX = '/home/user/mark-server.cjs';
/** Long enough for all of the rest of a sandbox below. */
const RESTS_MS = 6_000;

const SUGAR = { text: '/without sugar/' };
const plan = (...items: [text: string, status: string][]) => call('plan:write', { items: items.map(([text, status]) => ({ text, status })) });

/** More of what an installation is used for, for scenarios that are to meet all of it. */
export const FEATURES: Kinds = {
  forked: {
    agent: { checkpoints: 'turn' },
    turns: [
      { message: 'Begin.', steps: [calls(mark('begun')), { say: 'Begun.' }] },
      { message: 'Go on.', steps: [calls(mark('gone on')), show, { say: 'Gone on.' }] },
    ],
    marks: ['begun', 'gone on'],
    forks: true,
  },
  rewound: {
    agent: { checkpoints: 'turn' },
    turns: [
      { message: 'Begin.', steps: [calls(mark('begun')), { say: 'Begun.' }] },
      { message: 'Try.', steps: [calls(mark('tried')), show, { say: 'Tried.' }] },
      { message: 'Try again.', rewinds: true, steps: [calls(mark('tried')), show, { say: 'Tried.' }] },
    ],
    marks: ['begun', 'tried'],
  },
  rested: {
    agent: { sandbox: { backup: 'turn', idle: { freeze: '1s', stop: '2s', archive: '3s' } } },
    turns: [
      { message: 'Work.', steps: [calls(mark('one')), { say: 'One is done.' }] },
      { message: 'Work on.', afterMs: RESTS_MS, steps: [calls(mark('two')), show, { say: 'Two is done.' }] },
    ],
    marks: ['one', 'two'],
  },
  copied: {
    agent: { agents: { copying: { agent: 'copying', description: 'Works with a copy.', sandbox: 'fork', budget: TASK } }, budget: { tokens: 1_000_000 } },
    turns: [{ message: 'Copy.', steps: [calls(mark('parent')), calls(give('copying')), calls(mark('after')), show, { say: 'All have worked.' }] }],
    marks: ['parent', 'after'],
    below: ['copying'],
  },
  served: {
    agent: {
      tools: ['shell:*', 'marks:*'],
      mcp: { marks: { command: 'node', args: [IN_SANDBOX], where: 'sandbox' } },
      sandbox: { assets: [{ from: SERVER, to: IN_SANDBOX }] },
    },
    turns: [
      {
        message: 'Mark.',
        steps: [calls(mark('beside')), calls(call('marks:mark', { label: 'one' }), call('marks:mark', { label: 'two' })), show, { say: 'All is marked.' }],
      },
    ],
    marks: ['beside', 'one', 'two'],
  },
  python: {
    agent: { plugins: [PYTHON], tools: ['chaos.python:*'] },
    turns: [
      {
        message: 'Mark.',
        steps: [
          calls(call('chaos.python:mark', { label: 'one' }), call('chaos.python:mark', { label: 'two' })),
          calls(call('chaos.python:show', {})),
          { say: 'All is marked.' },
        ],
      },
    ],
    marks: ['one', 'two'],
  },
  remembered: {
    agent: { memory: 'user' },
    turns: [
      {
        message: 'Remember.',
        steps: [
          calls(call('memory:write', { path: 'tea.md', content: 'without sugar' })),
          calls({ ...call('memory:read', { path: 'tea.md' }), expect: SUGAR }),
          { say: 'Noted.' },
        ],
      },
    ],
    marks: [],
  },
  summed: {
    agent: { context: { window: 6_000, compactAt: 0.5, keepTurns: 1 } },
    turns: ['one', 'two', 'three'].map((label, index, all) => ({
      message: `Fill ${label}.`,
      steps: [calls(mark(label), call('shell:run', { command: 'seq 1500' })), ...(index === all.length - 1 ? [show] : []), { say: `Filled ${label}.` }],
    })),
    marks: ['one', 'two', 'three'],
  },
  answered: {
    agent: { output: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] } },
    turns: [{ message: 'Which number?', steps: [calls(mark('one')), show, { say: '{"number": 1}' }] }],
    marks: ['one'],
  },
  planned: {
    agent: { plan: true },
    turns: [
      {
        message: 'Plan.',
        steps: [
          calls(plan(['look', 'in_progress'], ['leap', 'pending'])),
          calls(mark('looked'), plan(['look', 'done'], ['leap', 'in_progress'])),
          show,
          { say: 'Planned.' },
        ],
      },
    ],
    marks: ['looked'],
  },
};

/** What the conversations above start. */
export const BELOW_FEATURES: Kinds = {
  copying: { agent: {}, turns: [{ message: 'Work.', steps: [calls(mark('copy')), show, { say: 'Copied.' }] }], marks: ['copy', 'parent'] },
};
