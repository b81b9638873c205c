import { resolve } from 'node:path';
import { fixtureProgram } from '../../plugins/dialects/mcp/support.ts';
import type { ScriptedAgent } from '../support.ts';
import { calls, mark, say, show } from './steps.ts';

/** Where the server of MCP may run: beside the worker. */
export const HOST_PLUGINS = 'mcp:fix';
const TITLES = ['first', 'second', 'third'];

const CODE = `
from longshore import tools
total = 0
for number in range(3):
    total = tools.fix.add(a=total, b=number)['sum']
tools.notes.save(title='by code', text=str(total))
print(tools.notes.read(title='by code'), total)
`;

/**
 * Tools of a server of MCP, of a plugin in a process of its own and of a plugin that runs in the sandbox: by the model, at the same time, and by code. Each says
 * of itself that doing it again is doing it once: of another one it would not be known after a kill whether it has taken effect.
 */
export async function toolsmith(): Promise<ScriptedAgent> {
  const both = (title: string, number: number) =>
    calls(['notes:save', { title, text: title }, { outcome: '/created|updated/' }], ['fix:add', { a: number, b: 1 }, { isError: false }]);
  return {
    plugins: ['notes', 'inventory'].map((plugin) => resolve('examples/plugins', plugin)),
    tools: ['shell:*', 'code:*', 'notes:*', 'inventory:*', 'fix:*'],
    mcp: { fix: { ...(await fixtureProgram()), timeoutMs: undefined, timeout: '1m' } },
    steps: [
      ...TITLES.map(both),
      calls(['code:run', { language: 'python', code: CODE }, { stdout: '3 3\n' }]),
      calls(mark('worked'), ['inventory:survey', {}, { isError: false }], ['notes:list', {}, { isError: false }]),
      calls(show),
      say('All tools have worked.'),
    ],
  };
}
