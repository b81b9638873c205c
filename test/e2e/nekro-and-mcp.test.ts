import { fileURLToPath } from 'node:url';
import { fixtureProgram } from '../plugins/mcp/support.ts';
import { installAgents, resultsOf, textIn, type Installation, type ScriptedStep } from './support.ts';

const HARBOUR = fileURLToPath(new URL('fixtures/harbour', import.meta.url));

function program(code: string): ScriptedStep {
  return { call: 'code:run', with: { language: 'python', code } };
}

const VALUES = `
print(my_sum_function(1, 2), my_sum_function(num1=3, num2=4))
print(preference('theme', 'dark'), preference(preference_key='theme'), preference('language'))
print(send_chat_message(text_to_send='Ahoy'))
from longshore import tools
print(tools.fix.add(a=1, b=2)['sum'])
try:
    tools.fix.refuse()
except Exception as error:
    print(error)
`;

let installation: Installation;
beforeAll(async () => {
  installation = await installAgents({
    harbour: {
      plugins: [HARBOUR],
      mcp: { fix: { ...fixtureProgram(), timeoutMs: undefined, timeout: '1m' } },
      tools: ['code:*', 'harbour-office:*', 'fix:*'],
      steps: [
        program(VALUES),
        program("print('before', flush=True)\nsearch_kb('tides')\nprint('after')"),
        program("draw(topic='boats')\nprint('after')"),
        { call: 'fix:count' },
        { say: 'Done.' },
      ],
    },
  });
  installation.environment['LONGSHORE_HOST_PLUGINS'] = 'mcp:fix';
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

test('a Python script calls Nekro methods of all four kinds by their names, and a server of MCP', async () => {
  const chat = await installation.longshore.start({ agent: 'harbour', user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Done.');
  const [values] = await resultsOf(chat);
  expect(textIn(values, 'stdout').split('\n')).toEqual(['3 7', '0 dark None', "Message 'Ahoy' has been sent.", '3', 'It is closed.', '']);
  const entries = (await chat.transcript()).map(({ entry }) => entry);
  const [, search, drawn, counted] = entries.flatMap((entry) => (entry.role === 'tool' ? [entry.content] : []));
  expect(search?.at(-1)).toEqual({ type: 'text', text: "No information related to 'tides' was found in the knowledge base." });
  expect(JSON.stringify(search)).toContain('before');
  expect(JSON.stringify(search)).not.toContain('after');
  expect(drawn?.at(-1)).toEqual({ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' });
  expect(counted).toEqual([{ type: 'text', text: '1' }]);
  expect(entries).toContainEqual({ role: 'note', text: "harbour-office:send_chat_message: Message 'Ahoy' has been sent." });
  await chat.close();
}, 60_000);
