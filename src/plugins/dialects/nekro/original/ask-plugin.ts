import { z } from 'zod';
import { freeExec } from '../../../../contracts/call-ids.ts';
import type { PluginConversation } from '../../../api/plugin.ts';
import { askProcess } from '../../shared/python/ask-process.ts';
import type { Reached } from '../../shared/python/reached.ts';
import { callerOf } from './caller.ts';

/** The plugin's sandbox may have to be made or started first. Milliseconds. */
export const HOOK_TIMEOUT_MS = 30_000;
const ANSWER_TIMEOUT_MS = 10_000;

const toldSchema = z.object({ value: z.object({ text: z.string().max(100_000), methods: z.array(z.string()).max(1_000).nullable() }) });

export type Told = z.infer<typeof toldSchema>['value'];

/** Asks the plugin what it says before a step of a conversation: a text for the instructions, and the methods that it chooses. */
export async function askPlugin(reached: Reached, conversation: PluginConversation, setsTimers: boolean): Promise<Told> {
  const execId = freeExec();
  const params = { name: '', arguments: {}, caller: await callerOf(conversation, execId, { ...reached, setsTimers }) };
  const { result, forget } = await askProcess(reached, conversation.tenantId, params, { execId, timeoutMs: ANSWER_TIMEOUT_MS });
  await forget();
  return toldSchema.parse(result).value;
}
