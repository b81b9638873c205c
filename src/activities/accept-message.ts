import { Context } from '@temporalio/activity';
import { stableJson } from '../common/stable-json.ts';
import type { ClientTools } from '../contracts/client-tool.ts';
import type { StoredMedia } from '../contracts/attachments/media.ts';
import type { AcceptedMessage, AcceptMessageArgs } from '../contracts/activities.ts';
import type { ConversationStatus } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { StoredMessage } from '../store/conversation/message-parts.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

export interface AcceptanceParts {
  store: {
    messages: Pick<Store['messages'], 'read'>;
    transcript: Pick<Store['transcript'], 'clientTools'>;
    conversations: Pick<Store['conversations'], 'acceptMessage'>;
  };
}

interface Acceptance extends AcceptedMessage {
  conversationId: string;
  turnId: string;
  status: ConversationStatus;
  replaces: 'always' | 'with-events';
  keyed: (events: NewEvent[]) => NewEvent[];
}

/** Adds a user's message to the transcript, once, and starts its turn unless it joins a running one. */
export function createAcceptMessage(parts: AcceptanceParts) {
  return async function acceptMessage({ eventsOf = 'activity', ...message }: AcceptMessageArgs): Promise<void> {
    await accept(parts, { ...message, replaces: 'always', keyed: eventsOf === 'activity' ? onceEach : onceEachOf(message.messageId) });
  };
}

export async function accept({ store }: AcceptanceParts, { text: inline, keyed, ...message }: Acceptance): Promise<void> {
  const { conversationId, turnId, messageId, steers, status, replaces } = message;
  const given: StoredMessage | undefined = inline === undefined ? await store.messages.read(conversationId, messageId) : { text: inline, attachments: [] };
  if (given === undefined) throw failure('MESSAGE_INVALID', { problem: `the text of "${messageId}" is not in Postgres`, fix: 'Send it again' });
  const { text, attachments } = given;
  const clientTools = await newToolsOf(store, conversationId, given);
  const told = attachments.length > 0 && { attachments: attachments.map(factsOf) };
  const received: NewEvent = { type: 'message.received', turnId, data: { messageId, text, steers, ...told } };
  const events: NewEvent[] = steers ? [received] : [received, { type: 'turn.started', turnId, data: {} }];
  await store.conversations.acceptMessage({ turnId, messageId, text, attachments, clientTools, events: keyed(events), status, replaces });
}

/** The tools of clients that a message declares, unless they are declared already: clients declare them with each message. */
async function newToolsOf(
  { transcript }: Pick<AcceptanceParts['store'], 'transcript'>,
  conversationId: string,
  { clientTools }: StoredMessage,
): Promise<ClientTools | undefined> {
  if (!clientTools) return undefined;
  const known = (await transcript.clientTools(conversationId)) ?? {};
  return stableJson(known) === stableJson(clientTools) ? undefined : clientTools;
}

function factsOf({ blob, name = '', mediaType, bytes }: StoredMedia): JsonObject {
  return { attachmentId: blob, name, mediaType, bytes };
}

/** Keys that are the same in each activity of the run that accepts the message: a model call, and `acceptMessage` when that call may not have done so. */
export function onceEachOf(messageId: string): (events: NewEvent[]) => NewEvent[] {
  const { workflowExecution } = Context.current().info;
  return (events) => events.map((event, index) => ({ ...event, key: `${workflowExecution?.runId ?? ''}/${messageId}/${index}` }));
}
