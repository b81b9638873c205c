import type { ErrorRow } from './error-row.ts';

/** Errors of whether and when a conversation takes what is sent to it. */
export const CONVERSATION_ERRORS = {
  CONVERSATION_NOT_FOUND: { message: 'No conversation "{conversationId}". List them with: longshore ls', httpStatus: 404, retryable: false },
  CONVERSATION_CLOSED: { message: 'Conversation "{conversationId}" is closed. Start a new one.', httpStatus: 409, retryable: false },
  CONVERSATION_UNSTARTED: {
    message:
      'Conversation "{conversationId}" has not started yet: a program is starting it, or has ended before it did. Try again in a moment; if that does not help, start it again with the same id.',
    httpStatus: 409,
    retryable: true,
  },
  TURN_NOT_FOUND: {
    message:
      'Conversation "{conversationId}" has no turn {turnId}, and waits for no message that could begin it. Leave the turn out for the newest one, or see its turns with: longshore show {conversationId}',
    httpStatus: 404,
    retryable: false,
  },
  CONVERSATION_BUSY: {
    message: 'Conversation "{conversationId}" is working on turn {turnId}. Wait for it, or send with whenBusy queue, steer or interrupt.',
    httpStatus: 409,
    retryable: true,
  },
  CONVERSATION_SUSPENDED: {
    message:
      'Conversation "{conversationId}" is paused by Temporal itself, which refuses messages and queries. To go on, run: temporal workflow unpause --workflow-id {conversationId}',
    httpStatus: 409,
    retryable: true,
  },
} as const satisfies Record<string, ErrorRow>;
