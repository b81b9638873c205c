import { KINDS, PLUGIN_TOOLS, type Call, type Kinds, type Step } from './kinds.ts';

const call = (tool: string, input: Call['with']): Step => ({ calls: [{ call: tool, with: input }] });
const mark = (label: string) => call('shell:run', { command: `echo '${label}' >> log` });
const show = call('shell:run', { command: 'sort log' });

/** A call with this in its arguments takes memory without end. */
export const SWELLS = 'swell';
const IN_SHELL = `: ${SWELLS}; tail /dev/zero`;
const IN_JAVASCRIPT = `const ${SWELLS} = []; for (;;) ${SWELLS}.push(Buffer.alloc(8 << 20, ${SWELLS}.length + 1));`;
const IN_PYTHON = `${SWELLS} = []\nwhile True: ${SWELLS}.append(bytearray(b'x') * (8 << 20))`;

/** Guests that take more memory than their sandbox has, in each of the ways that there are. */
export const SWELLING: Kinds = {
  swelling: {
    agent: { ...PLUGIN_TOOLS, sandbox: { memoryMb: 512 } },
    turns: [
      {
        message: 'Swell.',
        steps: [
          mark('one'),
          call('shell:run', { command: IN_SHELL }),
          mark('two'),
          call('code:run', { language: 'javascript', code: IN_JAVASCRIPT }),
          call('code:run', { language: 'python', code: IN_PYTHON }),
          call('chaos:swell', { label: SWELLS }),
          call('chaos:bloat', { label: SWELLS }),
          mark('three'),
          show,
          { say: 'It is over.' },
        ],
      },
    ],
    marks: ['one', 'two', 'three'],
  },
};

/** Those that hold one sandbox each: one that waits for another while it holds its own could wait for itself. */
const { commands, coder, asker, plugged, talker } = KINDS as Required<typeof KINDS>;
export const PLAYED: Kinds = { commands: commands!, coder: coder!, asker: asker!, plugged: plugged!, talker: talker!, ...SWELLING };

const hold = (seconds: number): Step => call('shell:run', { command: `sleep ${seconds}; echo held >> log` });
/** Of a host that is full. It has to be full until all who wait have said so, on a busy machine too. */
export const WAITING = {
  holder: { agent: {}, turns: [{ message: 'Hold.', steps: [hold(15), show, { say: 'It was held.' }] }], marks: ['held'] },
  stayer: { agent: {}, turns: [{ message: 'Stay.', steps: [hold(600), { say: 'It was held.' }] }], marks: [] },
  waiter: { agent: {}, turns: [{ message: 'Wait.', steps: [mark('waited'), show, { say: 'It has waited.' }] }], marks: ['waited'] },
} satisfies Kinds;
