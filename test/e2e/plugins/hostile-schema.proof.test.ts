import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConversationEvent } from '../../../src/client.ts';
import { installAgents, resultsOf, untilEvent, type Installation } from '../support.ts';

const PLUGIN = `import { definePlugin, defineTool } from 'longshore/plugins';
  const pattern = { type: 'string', pattern: '^(a+)+$' };
  const text = { type: 'object', properties: { x: pattern } };
  export default definePlugin({ id: 'slow', version: '1', tools: [
    defineTool({ id: 'take', description: 'Takes', parameters: text, async execute() { return 'taken'; } }),
    defineTool({ id: 'give', description: 'Gives', parameters: { type: 'object', properties: { length: { type: 'integer' } } }, resultSchema: text,
      async execute({ length }) { return { x: 'a'.repeat(length) + '!' }; } }),
  ] });`;
const HOSTILE = `${'a'.repeat(40)}!`;

let installation: Installation;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-e2e-hostile-schema-'));
  await writeFile(join(directory, 'index.ts'), PLUGIN);
  const refused = { isError: true, text: String.raw`/the pattern .* of its schema \(at \/properties\/x\/pattern\) needs more than 2000 ms for this value/` };
  installation = await installAgents({
    attacked: {
      plugins: [directory],
      tools: ['slow:*'],
      steps: [
        { calls: [1, 2].map(() => ({ call: 'slow:take', with: { x: HOSTILE }, expect: refused })) },
        { call: 'slow:give', with: { length: 40 }, expect: refused },
        { call: 'slow:take', with: { x: 'aaa' }, expect: { text: 'taken' } },
        { say: 'All are told.' },
      ],
    },
    bystander: { steps: [{ say: 'Here.' }, { say: 'Still here.' }, { say: 'And again.' }] },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test('a conversation is answered while the pattern of a tool is at work on the arguments and the result of another', async () => {
  const { longshore } = installation;
  const bystander = await longshore.start({ agent: 'bystander', user: 'user-1', message: 'Are you there?' });
  expect(await bystander.reply()).toBe('Here.');
  const attacked = await longshore.start({ agent: 'attacked', user: 'user-2', message: 'Go.' });
  const end = attacked.reply();
  /** Asks the bystander when an event of the attacked conversation is there, and tells whether it was answered before the call had ended. */
  const askDuring = async (begun: ConversationEvent['type'], tool: string) => {
    let hasEnded = false;
    await untilEvent(attacked, ({ type, data }) => type === begun && (data['tool'] ?? tool) === tool);
    const ended = untilEvent(attacked, ({ type, data }) => type === 'tool.finished' && data['tool'] === tool).then(() => (hasEnded = true));
    await bystander.send('And now?');
    const answer = await bystander.reply();
    const wasDuring = !hasEnded;
    await ended;
    return { answer, wasDuring };
  };
  expect(await askDuring('step.started', 'slow:take')).toEqual({ answer: 'Still here.', wasDuring: true });
  expect(await askDuring('tool.started', 'slow:give')).toEqual({ answer: 'And again.', wasDuring: true });
  expect(await end).toBe('All are told.');
  expect(await resultsOf(attacked)).toMatchObject([{ isError: true }, { isError: true }, { isError: true }, { text: 'taken' }]);
});
