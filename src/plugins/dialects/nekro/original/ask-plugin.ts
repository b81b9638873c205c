import { z } from 'zod';
import { freeExec } from '../../../../contracts/call-ids.ts';
import type { ServerAnswer } from '../../../../sandbox/api/host-methods.ts';
import type { PluginConversation } from '../../../api/plugin.ts';
import type { Reached } from '../../shared/python/python-plugin.ts';
import { callerOf } from './caller.ts';

/** The plugin's sandbox may have to be made or started first. Milliseconds. */
export const HOOK_TIMEOUT_MS = 30_000;
const ANSWER_TIMEOUT_MS = 10_000;

const toldSchema = z.object({ value: z.object({ text: z.string().max(100_000), methods: z.array(z.string()).max(1_000).nullable() }) });

export type Told = z.infer<typeof toldSchema>['value'];

/** Asks the plugin what it says before a step of a conversation: a text for the instructions, and the methods that it chooses. */
export async function askPlugin(reached: Reached, conversation: PluginConversation): Promise<Told> {
  const answer = await ask(reached, conversation).catch(() => {
    // Its container may have died since it was used last. Another one is made, and the question is repeated: it has no effect that counts.
    reached.own.forget(conversation.tenantId);
    return ask(reached, conversation);
  });
  if (answer.outcome !== 'answered') throw new Error(problemOf(answer));
  return toldSchema.parse(answer.result).value;
}

async function ask({ own, server }: Reached, conversation: PluginConversation): Promise<ServerAnswer> {
  const { handle } = await own.open(conversation.tenantId, false);
  const execId = freeExec();
  const params = { name: '', arguments: {}, caller: callerOf(conversation, execId) };
  const answer = await handle.callServer(server(), { method: 'tools/call', params }, { execId, timeoutMs: ANSWER_TIMEOUT_MS });
  await handle.forget(execId).catch(() => undefined);
  return answer;
}

function problemOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>): string {
  if (answer.outcome === 'refused') return answer.message;
  return 'why' in answer ? `its process does not answer: ${answer.why}` : `its process did not answer within ${ANSWER_TIMEOUT_MS} ms`;
}
