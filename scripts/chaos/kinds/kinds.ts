import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { readProgram } from '../../../src/platform/read-program.ts';

export interface Call {
  call: string;
  with: JsonObject;
  /** What has to be true of its result, in the form that scripts of models have. */
  expect?: JsonObject;
}
export interface Step {
  say?: string;
  calls?: Call[];
}
export interface Turn {
  message: string;
  /** Milliseconds after the reply to the one before. */
  afterMs?: number;
  /** Before its message, the client goes back to the end of the first turn; its steps are those of the turn that came after that. */
  rewinds?: true;
  steps: Step[];
}

/** A kind of conversation: what its agent does, and what has to be so when it has ended. */
export interface Kind {
  /** Keys of the agent's file, without its model. */
  agent: JsonObject;
  turns: Turn[];
  /** The lines that its calls leave in the file `log` of its sandbox, which its last call shows, sorted. */
  marks: string[];
  /** Agents whose conversations begin below it, each as often as it stands here. */
  below?: string[];
  /** At the end of the first turn, the client makes a fork, which does the turns after that as well. */
  forks?: true;
}

export type Kinds = Record<string, Kind>;

const PLUGIN = fileURLToPath(new URL('../plugin', import.meta.url));
/** Of agents whose effects are counted outside of Longshore, too. */
export const PLUGIN_TOOLS = { plugins: [PLUGIN], tools: ['shell:*', 'code:*', 'chaos:*'] };
const CODE = readProgram(import.meta.url, '../programs/call-tools.js');
const IN_CODE = ['anchor', 'bollard', 'crane'].flatMap((label) => [`by code: ${label}`, `by code: ${label}, in the sandbox`]);
export const TASK = { tokens: 100_000, steps: 12 };

export const call = (tool: string, input: JsonObject): Call => ({ call: tool, with: input });
export const calls = (...made: Call[]): Step => ({ calls: made });
/** Takes effect in the middle of its time, so that a fault comes before, between and after effects. */
export const mark = (label: string) => call('shell:run', { command: `sleep 0.3; echo '${label}' >> log; sleep 0.3` });
const ofOneTurn = (...labels: string[]): Step[] => labels.map((label) => calls(call('shell:run', { command: `sleep 2; echo '${label}' >> log; sleep 1` })));
export const show = calls(call('shell:run', { command: 'sort log' }));
export const give = (agent: string) => call('agents:run', { agent, task: 'Work.' });
const count = (tool: 'count' | 'once', label: string) => call(`chaos:${tool}`, { label });

/** Those that are started; what they start is in `BELOW`. */
export const KINDS: Kinds = {
  commands: {
    agent: {},
    turns: [{ message: 'Work.', steps: [calls(mark('one')), calls(mark('two'), mark('three')), calls(mark('four')), show, { say: 'The commands are done.' }] }],
    marks: ['one', 'two', 'three', 'four'],
  },
  coder: {
    agent: PLUGIN_TOOLS,
    turns: [{ message: 'Compute.', steps: [calls(call('code:run', { language: 'javascript', code: CODE })), show, { say: 'The code is done.' }] }],
    marks: IN_CODE,
  },
  asker: {
    agent: {
      approval: [
        { tool: 'shell:run', decide: 'ask' },
        { tool: '*', decide: 'allow' },
      ],
      clientTools: { ask: { description: 'Asks the user.', timeout: '10m' } },
    },
    turns: [
      { message: 'Ask.', steps: [calls(mark('asked-1'), mark('asked-2'), call('client:ask', {})), { say: 'Allowed and answered.' }] },
      { message: 'Again.', steps: [calls(call('client:ask', {})), show, { say: 'Allowed again.' }] },
    ],
    marks: ['asked-1', 'asked-2'],
  },
  family: {
    agent: {
      agents: {
        sharing: { agent: 'sharing', description: 'Works here.', sandbox: 'shared', budget: TASK },
        alone: { agent: 'alone', description: 'Works elsewhere.', sandbox: 'own', budget: TASK },
      },
      budget: { tokens: 1_000_000 },
    },
    turns: [
      { message: 'Share.', steps: [calls(mark('parent-1')), calls(give('sharing'), give('alone'), mark('parent-2')), show, { say: 'All have worked.' }] },
    ],
    marks: ['parent-1', 'parent-2', 'shared'],
    below: ['sharing', 'alone'],
  },
  plugged: {
    agent: PLUGIN_TOOLS,
    turns: [
      { message: 'Count.', steps: [calls(count('count', 'a'), count('count', 'b'), call('chaos:mark', { label: 'plugged-1' })), { say: 'Counted.' }] },
      {
        message: 'Once.',
        steps: [calls(count('once', 'c')), calls(call('chaos:mark', { label: 'plugged-2' }), count('once', 'd')), show, { say: 'Counted once.' }],
      },
    ],
    marks: ['plugged-1', 'plugged-2'],
  },
  talker: {
    agent: {},
    turns: ['One', 'Two', 'Three', 'Four'].map((text) => ({ message: `${text}?`, steps: [{ say: `${text}.` }] })),
    marks: [],
  },
};

/** Many of them are held in a short time: they need no sandbox. */
export const QUICK: Kinds = {
  talker: KINDS['talker']!,
  counter: {
    agent: PLUGIN_TOOLS,
    turns: [
      { message: 'Count.', steps: [calls(count('count', 'a'), count('once', 'b')), { say: 'Counted.' }] },
      { message: 'Again.', steps: [calls(count('once', 'c')), { say: 'Counted again.' }] },
    ],
    marks: [],
  },
};

/** Calls one after the other, each of which may be on its way when a host is lost. */
export const HOSTED: Kinds = {
  hosted: {
    agent: {},
    turns: [{ message: 'Work.', steps: [...ofOneTurn('one', 'two', 'three', 'four'), show, { say: 'The work is done.' }] }],
    marks: ['one', 'two', 'three', 'four'],
  },
  saved: {
    agent: { sandbox: { backup: 'turn' } },
    turns: [
      { message: 'Work.', steps: [...ofOneTurn('one', 'two'), { say: 'The first half is done.' }] },
      { message: 'Go on.', steps: [...ofOneTurn('three', 'four'), show, { say: 'The rest is done.' }] },
    ],
    marks: ['one', 'two', 'three', 'four'],
  },
};

const LINES = 20_000;
/** Much is written to the disk of the host: files, output, a backup, an archive. */
export const STORED: Kinds = {
  writer: {
    agent: {},
    turns: [
      {
        message: 'Work.',
        steps: [
          ...['one', 'two', 'three', 'four'].map((label) =>
            calls(call('shell:run', { command: `sleep 1 && head -c 3000000 /dev/urandom > ${label} && seq ${LINES} && echo '${label}' >> log` })),
          ),
          show,
          { say: 'All is written.' },
        ],
      },
    ],
    marks: ['one', 'two', 'three', 'four'],
  },
  resting: {
    agent: { sandbox: { backup: 'turn', idle: { freeze: '1s', stop: '2s', archive: '3s' } } },
    turns: [
      { message: 'Work.', steps: [...ofOneTurn('one', 'two'), { say: 'The first half is done.' }] },
      { message: 'Go on.', afterMs: 8_000, steps: [...ofOneTurn('three', 'four'), show, { say: 'The rest is done.' }] },
    ],
    marks: ['one', 'two', 'three', 'four'],
  },
};

export const BELOW: Kinds = {
  sharing: { agent: {}, turns: [{ message: 'Work.', steps: [calls(mark('shared')), { say: 'Shared.' }] }], marks: [] },
  alone: {
    agent: {},
    turns: [{ message: 'Work.', steps: [calls(mark('alone-1')), calls(mark('alone-2')), show, { say: 'Alone.' }] }],
    marks: ['alone-1', 'alone-2'],
  },
};

/** Answers at once, without a sandbox: tells whether all parts work. */
export const PULSE = { pulse: { agent: {}, turns: [{ message: 'Are you there?', steps: [{ say: 'Yes.' }] }], marks: [] } } satisfies Kinds;
