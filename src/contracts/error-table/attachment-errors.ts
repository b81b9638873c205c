import type { ErrorRow } from './error-row.ts';

/** Errors of attachments. */
export const ATTACHMENT_ERRORS = {
  ATTACHMENT_INVALID: { message: '{what} was refused: {problem}. {fix}', httpStatus: 400, retryable: false },
  ATTACHMENTS_FULL: {
    message:
      'Conversation "{conversationId}" has {bytes} bytes of attachments, and may have {limit}: the message was not sent. Attach less, or go on in a new conversation',
    httpStatus: 409,
    retryable: false,
  },
  ATTACHMENT_NOT_FOUND: {
    message: 'Conversation "{conversationId}" has no attachment "{attachmentId}". Copy the id from its transcript or from the event message.received',
    httpStatus: 404,
    retryable: false,
  },
} as const satisfies Record<string, ErrorRow>;
