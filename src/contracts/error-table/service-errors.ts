import { ATTACHMENT_ERRORS } from './attachment-errors.ts';
import type { ErrorRow } from './error-row.ts';

/** Errors of the HTTP service. */
export const SERVICE_ERRORS = {
  UNAUTHENTICATED: {
    message: 'This request needs a valid key: {problem}. Send it as "Authorization: Bearer lsk_…"; an operator makes one with: longshore keys create <name>',
    httpStatus: 401,
    retryable: false,
  },
  SCOPE_MISSING: {
    message: 'This key lacks the scope {scope}. Use a key that has it; an operator makes one with: longshore keys create <name> --scope {scope}',
    httpStatus: 403,
    retryable: false,
  },
  ISSUER_UNREACHABLE: {
    message: 'The issuer of tokens does not answer at {url}: {problem}. Check LONGSHORE_OIDC_ISSUER and LONGSHORE_OIDC_KEYS',
    httpStatus: 503,
    retryable: true,
  },
  OPERATOR_REQUIRED: {
    message:
      'This key belongs to a tenant, and {what} are for operators. Use a key of all tenants; an operator makes one with: longshore keys create <name> --scope admin',
    httpStatus: 403,
    retryable: false,
  },
  LINK_ENDED: { message: 'This link {problem}. Ask its sender for a new one', httpStatus: 410, retryable: false },
  PREVIEW_FOREIGN: {
    message: 'A page {origin} may not ask this preview. Open the preview itself, or let its own server ask',
    httpStatus: 403,
    retryable: false,
  },
  KEY_NOT_FOUND: { message: 'No key "{keyId}". List them with: longshore keys ls', httpStatus: 404, retryable: false },
  WEBHOOK_NOT_FOUND: { message: 'No webhook "{webhookId}". List them with: longshore webhooks ls', httpStatus: 404, retryable: false },
  WEBHOOK_LIMIT: {
    message: 'The tenant {tenant} has {limit} webhooks, as many as it may. Remove one with: longshore webhooks rm <id>',
    httpStatus: 409,
    retryable: false,
  },
  PLUGIN_WEBHOOK_NOT_FOUND: {
    message: 'Plugin "{plugin}" has no webhook "{webhookId}". List them with: longshore plugins webhooks {plugin}',
    httpStatus: 404,
    retryable: false,
  },
  PLUGIN_WEBHOOK_LIMIT: {
    message:
      'Plugin "{plugin}" has {limit} webhooks of the tenant {tenant}, as many as it may. Remove one with: longshore plugins webhooks {plugin} --remove <id>',
    httpStatus: 409,
    retryable: false,
  },
  PLUGIN_WEBHOOK_BUSY: { message: 'This webhook takes no request now: {problem}. Send it again in {retryAfter} s', httpStatus: 429, retryable: true },
  ROUTE_NOT_FOUND: { message: 'No route {method} {path}. /openapi.json lists the routes', httpStatus: 404, retryable: false },
  BODY_TOO_LARGE: { message: 'The body of the request has more than {limit} bytes. Send less, or put it into a file', httpStatus: 413, retryable: false },
  STREAM_LIMIT: {
    message: 'This key has {limit} streams and waiting requests open, as many as it may. Close one of them, or use another key',
    httpStatus: 429,
    retryable: true,
  },
  UPLOAD_LIMIT: {
    message: 'This key is sending {limit} request bodies at the same time, as many as it may. Send this one when others have arrived',
    httpStatus: 429,
    retryable: true,
  },
  DOWNLOAD_LIMIT: {
    message: 'With this key, {limit} files, exports or patches are being read at the same time, as many as may be. Read this one when others have ended',
    httpStatus: 429,
    retryable: true,
  },
  ANSWERS_UNREAD: {
    message: 'This key has been given {limit} bytes of answers that it has not read, as many as it may. Read them, and send this again',
    httpStatus: 429,
    retryable: true,
  },
  REQUEST_TIMEOUT: {
    message: 'The head of the request did not arrive within {seconds} s. Send it again without pauses',
    httpStatus: 408,
    retryable: true,
  },
  HEADERS_TOO_LARGE: { message: 'The head of the request has more than {limit} bytes. Send fewer or shorter headers', httpStatus: 431, retryable: false },
  RANGE_INVALID: { message: 'The file has no bytes "{range}": it has {size}. Ask for bytes that it has', httpStatus: 416, retryable: false },
  HOST_AWAY: {
    message: 'No worker of the host of sandbox "{sandboxId}" answers: {problem}. Try again; an operator starts one on that host with: longshore worker',
    httpStatus: 503,
    retryable: true,
  },
  SANDBOX_ABSENT: {
    message: 'Conversation "{conversationId}" has no sandbox yet. Its agent makes one with its first command; send it a message that needs one, and try again',
    httpStatus: 404,
    retryable: true,
  },
  LIMIT_REACHED: {
    message: 'This {of} has reached its limit {limit}, {allowed}. Try again in {retryAfter} s, or ask an operator for more: longshore limits set',
    httpStatus: 429,
    retryable: true,
  },
  IDEMPOTENCY_MISMATCH: {
    message: 'Idempotency-Key "{key}" was used for another request. Give each request a key of its own, and repeat a request unchanged',
    httpStatus: 422,
    retryable: false,
  },
  MESSAGE_CHANGED: {
    message: 'Message "{messageId}" was sent before with another text, and what was said cannot be changed. Send it as a new message, with an id of its own',
    httpStatus: 409,
    retryable: false,
  },
  IDEMPOTENCY_RUNNING: {
    message: 'The first request with Idempotency-Key "{key}" is in progress. Wait a moment and repeat it',
    httpStatus: 409,
    retryable: true,
  },
  IDEMPOTENCY_ONCE: {
    message: 'The request with Idempotency-Key "{key}" was done, and its answer is not kept. Use another key to do it again',
    httpStatus: 409,
    retryable: false,
  },
  CLIENT_CALL_NOT_FOUND: {
    message:
      'No client was asked to run call "{callId}" of conversation "{conversationId}". List those that wait: GET /v1/conversations/{conversationId}/tools',
    httpStatus: 404,
    retryable: false,
  },
  CLIENT_CALL_TAKEN: {
    message: 'Another client has call "{callId}" until {until}. Try again then, or leave it to that client',
    httpStatus: 409,
    retryable: true,
  },
  CLIENT_CALL_ENDED: {
    message: 'Call "{callId}" waits for no client any more: its time is over, or its turn has ended. Nothing more is to be done about it',
    httpStatus: 409,
    retryable: false,
  },
  CLIENT_RESULT_DIFFERENT: { message: 'Call "{callId}" has another result already. The first one counts', httpStatus: 409, retryable: false },
  CLIENT_RESULT_INVALID: {
    message: 'The result of call "{callId}" is not what its tool declares: {problems}. Give one that fits "output", or one with isError',
    httpStatus: 422,
    retryable: false,
  },
  CLIENT_RESULT_TOO_LARGE: {
    message: 'The result of call "{callId}" has {bytes} bytes as JSON; at most {limit} are taken. Give a part of it, or where it can be found',
    httpStatus: 413,
    retryable: false,
  },
  CONVERSATION_EXISTS: {
    message: 'The id "{conversationId}" is taken by another conversation. Choose another, or leave it out to get a new one',
    httpStatus: 409,
    retryable: false,
  },
  ENCRYPTION_KEY_UNKNOWN: {
    message:
      'This was encrypted with the key "{keyId}", which this process does not have (it has {known}). Add that key to LONGSHORE_ENCRYPTION_KEYS of every worker, service and client, and start them again',
    httpStatus: 503,
    retryable: true,
  },
  PAYLOAD_UNREADABLE: {
    message:
      'What Temporal has stored with the key "{keyId}" cannot be decrypted: it is damaged, or this process has another key with that id. Give the id its former key in LONGSHORE_ENCRYPTION_KEYS, and a new key a new id',
    httpStatus: 503,
    retryable: true,
  },
  SECRET_UNREADABLE: {
    message:
      'The secret of {of} that Postgres has stored with the key "{keyId}" cannot be decrypted: it is damaged, or this process has another key with that id. Give the id its former key in LONGSHORE_ENCRYPTION_KEYS, and a new key a new id',
    httpStatus: 503,
    retryable: true,
  },
  FORK_REFUSED: { message: 'Conversation "{conversationId}" cannot be forked there: {problem}. {fix}', httpStatus: 409, retryable: false },
  FORK_FILES_UNKNOWN: {
    message:
      'The files that "{conversationId}" had there are not known: {problem}. Fork where they are known: {places}; or with other files: files now or none',
    httpStatus: 409,
    retryable: false,
  },
  IMPORT_INVALID: { message: 'This archive cannot be imported: {problem}. {fix}', httpStatus: 400, retryable: false },
  IMPORT_REPLACED: {
    message: 'This import of "{conversationId}" does not go on: another one with the same id has begun, or it was given up. Import the archive again',
    httpStatus: 409,
    retryable: true,
  },
  CONVERSATION_REMOVING: {
    message: 'Conversation "{conversationId}" is closed and is being removed. Try again later, when its id is free, or choose another',
    httpStatus: 409,
    retryable: true,
  },
  CLIENT_CLOSED: { message: 'This client was closed. Connect again: connect()', httpStatus: 409, retryable: false },
  SERVICE_UNREACHABLE: {
    message: 'The Longshore service cannot be reached at {url}: {problem}. Check the address, or start it: longshore serve',
    httpStatus: 503,
    retryable: true,
  },
  SERVICE_AWAY: { message: 'The service cannot do this now ({cause}). Try again; its log says more at request {request}', httpStatus: 503, retryable: true },
  ...ATTACHMENT_ERRORS,
} as const satisfies Record<string, ErrorRow>;
