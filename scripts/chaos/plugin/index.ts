/** Tools whose effects are counted: by lines in a file of the sandbox, and by a counter outside of Longshore that gets a request with the id of each call. */
import { appendFile } from 'node:fs/promises';
import { definePlugin, defineTool, type ToolContext } from 'longshore/plugins';
import { z } from 'zod';

const permissions = { network: ['127.0.0.1'], env: ['CHAOS_COUNTER'] };
const label = z.strictObject({ label: z.string().describe('What is counted.') });

async function tellCounter({ label: counted }: { label: string }, { callId, env, fetch }: ToolContext): Promise<string> {
  const answer = await fetch(`${env['CHAOS_COUNTER']}/${callId}`, { method: 'POST' });
  if (!answer.ok) throw new Error(`the counter answered with ${answer.status}`);
  return `counted ${counted}`;
}

async function swell(): Promise<never> {
  const taken: Uint8Array[] = [];
  for (;;) taken.push(new Uint8Array(8 << 20).fill(1));
}

export default definePlugin({
  id: 'chaos',
  version: '1.0.0',
  description: 'Counted effects',
  tools: [
    defineTool({
      id: 'look',
      description: 'Looks something up, which takes a moment.',
      parameters: z.strictObject({ key: z.string() }),
      annotations: { readOnlyHint: true },
      async execute({ key }) {
        await new Promise((resolve) => setTimeout(resolve, 400));
        return `found ${key}`;
      },
    }),
    defineTool({
      id: 'count',
      description: 'Tells a counter, which knows a call that is repeated.',
      parameters: label,
      annotations: { idempotentHint: true },
      permissions,
      execute: tellCounter,
    }),
    defineTool({
      id: 'once',
      description: 'Tells a counter, and may not be repeated.',
      parameters: label,
      permissions,
      execute: tellCounter,
    }),
    defineTool({
      id: 'swell',
      description: 'Takes memory without end.',
      parameters: label,
      isolation: 'container',
      execute: swell,
    }),
    defineTool({
      id: 'bloat',
      description: 'Takes memory without end, beside the worker.',
      parameters: label,
      execute: swell,
    }),
    defineTool({
      id: 'mark',
      description: 'Leaves a line in the sandbox.',
      parameters: label,
      isolation: 'container',
      async execute({ label: line }) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        await appendFile('/home/user/log', `${line}\n`);
        await new Promise((resolve) => setTimeout(resolve, 200));
        return `marked ${line}`;
      },
    }),
  ],
});
