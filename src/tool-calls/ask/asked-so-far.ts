import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import type { AskedByPlugins } from '../../contracts/usage.ts';
import type { UsageRows } from '../../store/service/usage.ts';
import { usageOfCall } from './ask-model.ts';

/** What the questions of a call or step to the model have used, of all attempts at it. */
export async function askedSoFar(
  usage: Pick<UsageRows, 'under'>,
  { conversationId, modelLeft }: Pick<ExecuteToolArgs, 'conversationId' | 'modelLeft'>,
  callId: string,
): Promise<AskedByPlugins> {
  if (!modelLeft) return {};
  const { calls, inputTokens, outputTokens, costUsd } = await usage.under(conversationId, usageOfCall(callId));
  return calls === 0 ? {} : { asked: { inputTokens, outputTokens, costUsd } };
}

/** The usage of one attempt at a call, which knows whether what was asked has to be looked up. */
export interface NotedUsage {
  usage: UsageRows;
  /** No earlier attempt can have asked anything. */
  isFirst(): void;
  mayHaveAsked(): boolean;
}

export function notingQuestions(usage: UsageRows): NotedUsage {
  let noneBefore = false;
  let asked = false;
  return {
    usage: {
      ...usage,
      async add(...question) {
        asked = true;
        await usage.add(...question);
      },
    },
    isFirst: () => void (noneBefore = true),
    mayHaveAsked: () => asked || !noneBefore,
  };
}
