import type { JsonObject } from '../../../src/contracts/json.ts';
import { chatChunks, sendEvents, startProvider } from '../../models/provider-server.ts';
import type { ScriptedAgent } from '../support.ts';
import { JUDGED_COMMANDS, ONLY_IN_OUTPUT } from './agents.ts';

export interface Judge extends AsyncDisposable {
  /** What an agent has to have to be judged by it. */
  keys: Pick<ScriptedAgent, 'judge'>;
  /** Checks everything that it was asked: the messages of the user and the call, and nothing that a tool has returned. Gives how often it was asked. */
  check(): number;
}

/** A judge behind a provider's API, which allows everything and keeps what it was shown. */
export async function startJudge(): Promise<Judge> {
  const verdict = '{"verdict": "allow", "confidence": 0.95, "reason": "It works in the sandbox."}';
  const server = await startProvider((response) => sendEvents(response, chatChunks([{ content: verdict }])));
  return {
    keys: { judge: { model: 'openai-compatible/judge', modelOptions: { baseUrl: `${server.url}/v1` }, rules: ['Work in the sandbox is fine.'] } },
    check() {
      for (const { body } of server.requests) {
        const messages = body['messages'] as { role: string; content: string | { text: string }[] }[];
        expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
        const asked = messages[1]?.content ?? '';
        const { call, ...others } = JSON.parse(typeof asked === 'string' ? asked : (asked[0]?.text ?? '')) as { call: JsonObject };
        expect(others).toEqual({ userMessages: ['Go.'] });
        expect(JUDGED_COMMANDS.map((command) => ({ tool: 'shell:run', arguments: { command } }))).toContainEqual(call);
        expect(JSON.stringify(body)).not.toContain(ONLY_IN_OUTPUT);
      }
      return server.requests.length;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
