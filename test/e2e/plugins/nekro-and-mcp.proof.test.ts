import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import type { ContentPart, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { fixtureProgram } from '../../plugins/dialects/mcp/support.ts';
import { installAgents, resultsOf, textIn, type Installation, type ScriptedStep } from '../support.ts';

const HARBOUR = fileURLToPath(new URL('../fixtures/harbour', import.meta.url));

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
      mcp: { fix: { ...(await fixtureProgram()), timeoutMs: undefined, timeout: '1m' } },
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

describe('a Python program', () => {
  let chat: Chat;
  let values: string[];
  let entries: TranscriptEntry[];
  let told: ContentPart[][];
  beforeAll(async () => {
    chat = await installation.longshore.start({ agent: 'harbour', user: 'user-1', message: 'Begin.' });
    expect(await chat.reply()).toBe('Done.');
    values = textIn((await resultsOf(chat))[0], 'stdout')
      .trimEnd()
      .split('\n');
    entries = (await chat.transcript()).map(({ entry }) => entry);
    told = entries.flatMap((entry) => (entry.role === 'tool' ? [entry.content] : []));
  }, 180_000);
  afterAll(() => chat.close());

  test('calls methods of plugins by their own names, as plain functions, by position or by name', () => {
    expect(values[0]).toBe('3 7');
  });

  test('TOOL: waits for the result, and goes on with the value, without a step of the model', () => {
    expect(values[1]).toBe('0 dark None');
    expect(entries.filter(({ role }) => role === 'assistant')).toHaveLength(5);
  });

  test('BEHAVIOR: goes on with the text, which is noted for the model and the user and sets off no step', () => {
    expect(values[2]).toBe("Message 'Ahoy' has been sent.");
    expect(entries.slice(0, 4).map(({ role }) => role)).toEqual(['user', 'assistant', 'note', 'note']);
    expect(entries[2]).toEqual({ role: 'note', text: 'harbour-office:send_chat_message said to the user: Ahoy' });
    expect(entries[3]).toEqual({ role: 'note', text: "harbour-office:send_chat_message: Message 'Ahoy' has been sent." });
  });

  test('AGENT: ends at the call, and the text is told to the model, whose next step begins at once', () => {
    expect(told[1]?.at(-1)).toEqual({ type: 'text', text: "No information related to 'tides' was found in the knowledge base." });
    expect(JSON.stringify(told[1])).toContain('before');
    expect(JSON.stringify(told[1])).not.toContain('after');
  });

  test('MULTIMODAL_AGENT: ends at the call, and the parts are shown to the model, whose next step begins at once', () => {
    expect(told[2]?.slice(-2)).toEqual([
      { type: 'text', text: "This is an image about 'boats'." },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
    ]);
    expect(JSON.stringify(told[2])).not.toContain('after');
  });

  test('calls tools of a server of MCP, as the model does', () => {
    expect(values.slice(3)).toEqual(['3', 'It is closed.']);
    expect(told[3]).toEqual([{ type: 'text', text: '1' }]);
  });
});
