import { ATTACHMENT_LIMITS } from '../../src/contracts/attachments/media.ts';
import { chatChunks, sendEvents, startProvider } from './provider-server.ts';
import { ask, hello, makeModel, makeRequest, SHELL } from './support.ts';

const HALF = '\ud83d';

/** The texts of the request that the provider was sent, as JSON. */
async function sentFor(changes: Parameters<typeof makeRequest>[1], entries = [hello]): Promise<string> {
  await using server = await startProvider((response) => sendEvents(response, chatChunks([{ content: 'Done.' }])));
  await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest(entries, changes));
  return JSON.stringify(server.requests[0]?.body);
}

test('half a character is in no request: providers refuse it, and all that follow', async () => {
  const said = { role: 'user' as const, content: [{ type: 'text' as const, text: `cut ${HALF}` }] };
  const described = { type: 'object', properties: { command: { type: 'string', description: HALF }, [`name${HALF}`]: {} } };
  const sent = await sentFor({ instructions: `Be ${HALF}`, tools: [{ ...SHELL, description: `Runs ${HALF}`, parameters: described }] }, [said]);
  expect(sent).toContain('cut \ufffd');
  expect(sent).toContain('Be \ufffd');
  expect(sent).toContain('Runs \ufffd');
  expect(sent).toContain('"name\ufffd"');
  expect(sent).not.toMatch(/\\ud[89a-f]/);
});

test('a file whose text is cut within a symbol is readable, and whole symbols stay', async () => {
  const bytes = Buffer.from(`a${'🌍'.repeat(ATTACHMENT_LIMITS.text)}`);
  const file = { type: 'file' as const, blob: `sha256:${'0'.repeat(64)}`, mediaType: 'text/plain', name: 'a.txt', bytes: bytes.length };
  const sent = await sentFor({ readMedia: async (_blob, most) => bytes.subarray(0, most) }, [{ role: 'user', content: [file] }]);
  expect(sent).toContain('a🌍🌍');
  expect(sent).not.toMatch(/\\ud[89a-f]/);
});
