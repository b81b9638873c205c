import type { CommandResult, RunOptions } from '../../../src/sandbox/api/commands.ts';
import type { MethodAnswer, MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { LocalSupervisor } from './local-supervisor.ts';

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

/** Tools with more to tell than names and texts. */
export const RICH_SPECS = [
  ...SPECS,
  {
    id: 'board:post',
    kind: 'tool',
    description: 'Posts anything.',
    parameters: {
      type: 'object',
      properties: {
        at: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
        value: {},
        tags: { type: 'array', items: { type: 'string' }, description: 'Words.' },
        level: { enum: ['low', 'high'] },
      },
      required: ['value'],
    },
    result: { type: 'object' },
  },
  { id: 'board:remark', kind: 'behavior', description: 'Says so.', parameters: { type: 'object', properties: {} } },
  { id: 'board:ask', kind: 'agent', description: 'Asks.\n\nArgs:\n    about (str): What.', parameters: { type: 'object', properties: { about: {} } } },
];

export type Reply = (call: MethodCall) => MethodAnswer | undefined | Promise<MethodAnswer | undefined>;

export const echo = ({ tool, arguments: given }: MethodCall): MethodAnswer => ({ ok: { tool, given } });

/** Answers as a worker would: the list of tools itself, everything else by `reply`; without a reply the call stays open. */
export function serveCalls(
  { handle }: LocalSupervisor,
  reply: Reply,
  specs: object[] = SPECS,
): { calls: MethodCall[]; onMethodCall: (call: MethodCall) => void } {
  const calls: MethodCall[] = [];
  const take = async (call: MethodCall) => {
    const answer = call.tool === 'longshore:tools' ? ({ ok: specs } as MethodAnswer) : await reply(call);
    if (answer) await handle.answerMethod(call.execId, call.number, answer);
  };
  return {
    calls,
    onMethodCall(call) {
      if (call.tool !== 'longshore:tools') calls.push(call);
      void take(call);
    },
  };
}

export function runPython({ handle }: LocalSupervisor, code: string, options: RunOptions): Promise<CommandResult> {
  return handle.run('exec python3 "$LONGSHORE_GUEST/run_python.py" -', { stdin: code, timeoutMs: 20_000, ...options });
}

export function runJavascript({ handle }: LocalSupervisor, code: string, options: RunOptions): Promise<CommandResult> {
  const command = 'exec node --require "$LONGSHORE_GUEST/global_tools.cjs" --input-type=module -';
  return handle.run(command, { stdin: code, timeoutMs: 20_000, ...options });
}
