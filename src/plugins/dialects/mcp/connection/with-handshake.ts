import type { Client } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { Sampling } from '../../../../contracts/mcp/server.ts';
import { aboutServer } from '../offers/listed-tools.ts';
import { offersIn } from '../offers/offered-tools.ts';
import { answerQuestion } from '../questions/answer-question.ts';
import { answerSampling } from '../questions/answer-sampling.ts';
import { createCalls } from '../questions/calls-in-progress.ts';
import { ANY_RESULT, listTools, optionsOf, type CallOptions, type Talk } from './client-requests.ts';

/**
 * How a server of the revisions of 2025 is talked to, which sends requests of its own. What it asks has to be answered from the beginning of the handshake on, so this is
 * made before it is known whether the server is one.
 */
export function talkWithHandshake(client: Client, name: string, sampling: Sampling | undefined): Talk & { begin(): void } {
  const calls = createCalls<CallOptions>();
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq: { signal } }) => answerQuestion(name, params, calls.current(), signal));
  if (sampling) {
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq: { signal } }) => answerSampling(name, sampling, params, calls.current(), signal));
  }
  return {
    begin() {
      // Without a level, a server may send all that it logs. One that refuses the level can be used none the less.
      if (client.getServerCapabilities()?.logging) void client.setLoggingLevel('info').catch(() => undefined);
    },
    async list() {
      const { tools, ...others } = client.getServerCapabilities() ?? {};
      // A server without tools need not know how to list them.
      return { tools: tools ? await listTools(client) : [], ...aboutServer({ offers: offersIn(others), instructions: client.getInstructions() }) };
    },
    async call(request, options) {
      if (await options.rounds?.open(request)) throw new Error(`the MCP server ${name} ${CHANGED}`);
      return calls.during(options, async () => (await client.request(request, ANY_RESULT, optionsOf(options))) as JsonObject);
    },
  };
}

const CHANGED =
  'has asked for input during this call, and does not speak the revision of the protocol any more in which it did: it is not known whether the call took effect';
