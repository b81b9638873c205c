import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import { isSilentResult } from '../../plugins/builtin/silent-result.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { Store } from '../../store/store.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import { resultTextOf } from './tool-result.ts';

interface Parts {
  args: Pick<ExecuteToolArgs, 'callId' | 'conversationId' | 'stepId' | 'tool'>;
  store: Store;
  registry: Pick<Registry, 'get'>;
}

/**
 * True for a call whose code called behaviors and no other tools, all successfully, and returned nothing itself: the model reads notes of what they did,
 * and has nothing to answer. Reads the ledger, so that a later attempt at the same call gets the same result.
 */
export async function onlyNoted(
  { args, store, registry }: Parts,
  { state, content = [], isError }: Pick<ToolCallRow, 'state' | 'content' | 'isError'>,
): Promise<boolean> {
  const { callId, conversationId, stepId, tool } = args;
  const mayBe = state === 'finished' && !isError && isSilentResult(tool, content.slice(0, 1), []);
  if (!mayBe) return false;
  const made = (await store.toolCalls.ofStep(conversationId, stepId)).filter(({ parentCallId }) => parentCallId === callId);
  const areNoted = made.length > 0 && made.every((call) => call.state === 'finished' && !call.isError && registry.get(call.tool)?.kind === 'behavior');
  const texts = made.flatMap((call) => [resultTextOf(call.content ?? []), ...(typeof call.value === 'string' ? [call.value] : [])]);
  return areNoted && isSilentResult(tool, content, texts);
}
