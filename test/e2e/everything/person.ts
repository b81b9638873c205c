import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure } from '../../../src/contracts/errors.ts';
import type { ApprovalAnswer } from '../../../src/contracts/conversation.ts';
import type { Chat } from '../../../src/client.ts';
import { textIn, until, untilEvent, type Installation } from '../support.ts';
import { say, untilAnswered } from './say.ts';

/** A judge has this long before a person answers in its place. Milliseconds. */
const PATIENCE_MS = 8000;
const REMEMBERED = 'shell:run';

/** A person who allows whatever waits, but for what `remember` answers. */
export function allowEverything(installation: Installation): AsyncDisposable {
  const over = new AbortController();
  const allowing = (async () => {
    while (!over.signal.aborted) {
      for (const { conversationId, agentId, status } of await installation.longshore.list({ state: 'awaiting-approval', limit: 1000 })) {
        if (agentId === 'remembering') continue;
        for (const { callId, requestedAtMs } of status.pendingApprovals) {
          if (agentId === 'judged' && Date.now() - requestedAtMs < PATIENCE_MS) continue;
          await installation.longshore.approve(conversationId, { callId, answer: 'allow-once', by: 'bob' }).catch(() => undefined);
        }
      }
      await sleep(100);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await allowing;
    },
  };
}

/** A tool is allowed for the rest of a conversation, is not asked about, is taken back and asked about again. */
export async function remember({ store }: Installation, chat: Chat): Promise<void> {
  const callId = await answerNext(chat, 1, 'allow');
  expect(await chat.reply()).toBe('First.');
  await until(async () => (await chat.status()).allowedTools !== undefined, 'the allowance is in the status');
  expect((await chat.status()).allowedTools).toEqual([{ tool: REMEMBERED, callId, by: 'ada', at: expect.any(String) }]);
  expect(await say(chat, 'Without asking.')).toBe('Second.');
  await untilAnswered(() => chat.revokeAllowed(REMEMBERED, { by: 'bob' }));
  expect((await chat.status()).allowedTools).toBeUndefined();
  const third = say(chat, 'And again.');
  for (const count of [2, 3]) await answerNext(chat, count, 'allow-once');
  expect(await third).toBe('Third.');
  const events = await store.events.read(chat.id, 0);
  const told = (wanted: string) => events.filter(({ type }) => type === wanted).map(({ data }) => data);
  expect(told('tool.approval-requested')).toHaveLength(3);
  expect(told('tool.approval-resolved').map(({ answer }) => answer)).toEqual(['allow', 'allow-once', 'allow-once']);
  expect(told('tool.approval-revoked')).toEqual([{ tool: REMEMBERED, by: 'bob' }]);
}

/** Answers the call that is asked about as the `count`-th of the conversation. */
async function answerNext(chat: Chat, count: number, answer: ApprovalAnswer): Promise<string> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested' && ++seen === count);
  const callId = textIn(data, 'callId');
  await untilAnswered(() => chat.approve({ callId, answer, by: 'ada' })).catch((error: unknown) => {
    // An answer whose own answer was lost has been taken.
    if (!isFailure(error, 'APPROVAL_NOT_FOUND')) throw error;
  });
  return callId;
}
