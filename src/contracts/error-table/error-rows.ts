import { CONVERSATION_ERRORS } from './conversation-errors.ts';
import { DATABASE_ERRORS } from './database-errors.ts';
import type { ErrorRow } from './error-row.ts';
import { HOST_ERRORS } from './host-errors.ts';
import { MEMORY_ERRORS } from './memory-errors.ts';
import { SERVICE_ERRORS } from './service-errors.ts';

/** Every error that Longshore raises on purpose. */
export const ERRORS = {
  INVALID_ARGUMENT: { message: '{what}: {problem}. {fix}', httpStatus: 400, retryable: false },
  AGENT_NOT_FOUND: {
    message: 'No agent named "{agent}". Known: {known}. Put {agent}.yaml into {directory}, set LONGSHORE_AGENTS to where it is, or name one that exists.',
    httpStatus: 404,
    retryable: false,
  },
  AGENT_INVALID: { message: '{file}: {path}: {problem}. {fix}', httpStatus: 400, retryable: false },
  SKILL_INVALID: { message: '{file}: {field}: {problem}. {fix}', httpStatus: 400, retryable: false },
  TEMPLATE_INVALID: { message: '{file}: {path}: {problem}. {fix}', httpStatus: 400, retryable: false },
  TEMPLATE_NOT_FOUND: {
    message: 'No template named "{template}". Known: {known}. Put {template}.yaml into {directory} or name one that exists.',
    httpStatus: 404,
    retryable: false,
  },
  TEMPLATE_IN_USE: {
    message: 'Template "{template}" is in use by {users}. Destroy these sandboxes first, or remove its images anyway: longshore template rm {template} --force',
    httpStatus: 409,
    retryable: false,
  },
  TEMPLATE_NOT_BUILT: {
    message: 'The image of template "{template}" is not on host "{host}" ({image}). Build it there: longshore template build {template}',
    httpStatus: 503,
    retryable: false,
  },
  SCHEDULE_NOT_FOUND: { message: 'No schedule "{scheduleId}". List them with: longshore schedule ls', httpStatus: 404, retryable: false },
  SCHEDULE_EXISTS: {
    message: 'There is a schedule "{scheduleId}" already. Choose another id, or remove that one first: longshore schedule rm {scheduleId}',
    httpStatus: 409,
    retryable: false,
  },
  SCHEDULE_NOT_RUN: {
    message: 'Temporal has accepted the trigger of schedule "{scheduleId}", and has not started the run yet. See: longshore schedule show {scheduleId}',
    httpStatus: 503,
    retryable: false,
  },
  ...CONVERSATION_ERRORS,
  MESSAGE_INVALID: { message: 'Message refused: {problem}. {fix}', httpStatus: 400, retryable: false },
  CLIENT_TOOLS_REFUSED: { message: '"clientTools" cannot be used: {problem}. {fix}', httpStatus: 400, retryable: false },
  OUTPUT_INVALID: { message: '"output" cannot be used: {problem}. {fix}', httpStatus: 400, retryable: false },
  ANSWER_INVALID: {
    message: 'The answer of the agent does not fit the schema of its output: {problems}. The transcript has its text; ask again, or correct the schema.',
    httpStatus: 502,
    retryable: false,
  },
  APPROVAL_NOT_FOUND: {
    message: 'No pending approval for call "{callId}". It may have been answered or have expired; see: longshore show {conversationId}',
    httpStatus: 404,
    retryable: false,
  },
  APPROVAL_MISMATCH: {
    message: 'The approval of call "{callId}" is bound to hash {expected}, not {given}. Read the pending approval again and answer that.',
    httpStatus: 409,
    retryable: false,
  },
  APPROVAL_OUTDATED: {
    message:
      '{tool} has changed since the approval of this call was requested (its plugin has version {version} now); the call was not run. Read the current description of the tool, and call it again.',
    httpStatus: 409,
    retryable: false,
  },
  STORAGE_EXHAUSTED: {
    message:
      'This conversation has used its storage budget ({limit} MB, budget.storageMb); the call has changed nothing and has no result. An operator can grant more with: longshore resume --extra-storage',
    httpStatus: 429,
    retryable: false,
  },
  TOOL_NOT_FOUND: { message: 'Unknown tool "{tool}". Available: {known}.', httpStatus: 404, retryable: false },
  TOOL_ARGUMENTS_INVALID: { message: 'Arguments of {tool} are not valid: {problems}. Correct them and call it again', httpStatus: 400, retryable: false },
  TOOL_RESULT_INVALID: { message: '{tool} returned {problem}. Correct the plugin.', httpStatus: 502, retryable: false },
  TOOL_FAILED: { message: '{tool} failed: {problem}', httpStatus: 502, retryable: false },
  TOOL_CALL_MISMATCH: {
    message: 'Tool call "{callId}" was proposed with other arguments ({expected}, not {given}); it was not run. Call the tool again.',
    httpStatus: 409,
    retryable: false,
  },
  TOOL_CALL_NOT_FOUND: {
    message: 'No tool call "{callId}" was proposed in this database. Check DATABASE_URL of the worker.',
    httpStatus: 404,
    retryable: false,
  },
  PLUGIN_INVALID: { message: 'Plugin {plugin}: {problem}. {fix}', httpStatus: 400, retryable: false },
  PERMISSION_NOT_GRANTED: {
    message:
      'Plugin "{plugin}": {problem}, and no operator granted {it}. To grant {it}: {command}; or write {entry} at the plugin\'s entry in the agent\'s file',
    httpStatus: 403,
    retryable: false,
  },
  PLUGIN_NOT_FOUND: {
    message: 'No plugin "{plugin}" is known to the workers. Known: {known}. Use one of these ids, or add the plugin to an agent.',
    httpStatus: 404,
    retryable: false,
  },
  PLUGIN_COLLISION: { message: 'Two plugins provide "{id}": {first} and {second}. Rename one.', httpStatus: 400, retryable: false },
  METHOD_COLLISION: {
    message:
      'Plugin "{plugin}": its method "{method}" has the same name as one of the plugin "{other}", and agent "{agent}" has both. ' +
      'Code calls methods by their names alone: rename one of them, take one plugin out of the agent, or disable one: longshore plugins disable {other}',
    httpStatus: 400,
    retryable: false,
  },
  PLUGIN_ENDED: { message: '{tool} failed: its process was ended: {why}', httpStatus: 502, retryable: false },
  PLUGIN_CALL_REPEATED: {
    message: '{tool} is repeated: its process, which has worked on other calls as well, was ended: {why}',
    httpStatus: 502,
    retryable: true,
  },
  PLUGIN_STORE_REFUSED: { message: 'The store of plugin "{plugin}" refused "{key}": {problem}. {fix}', httpStatus: 400, retryable: false },
  NETWORK_REFUSED: { message: 'Request to "{target}" refused: {problem}', httpStatus: 403, retryable: false },
  NETWORK_FAILED: { message: 'Request to "{target}" failed: {problem}', httpStatus: 502, retryable: true },
  MODEL_NOT_SUPPORTED: { message: 'Model "{model}" cannot be used: {problem}. {fix}', httpStatus: 400, retryable: false },
  MODEL_AUTH: { message: 'The provider of "{model}" refused the key: {problem}. Check {variable}.', httpStatus: 502, retryable: false },
  MODEL_BAD_REQUEST: {
    message: 'The provider of "{model}" refused the request: {problem}. Check model and modelOptions of the agent.',
    httpStatus: 502,
    retryable: false,
  },
  MODEL_CONTEXT_TOO_LONG: {
    message:
      'The provider of "{model}" refused the prompt as too long: {problem}. Send less at once, or set context.window of the agent to the tokens that the model takes.',
    httpStatus: 502,
    retryable: false,
  },
  MODEL_RATE_LIMITED: { message: 'The provider of "{model}" limits its requests: {problem}. Try again later.', httpStatus: 503, retryable: true },
  MODEL_UNAVAILABLE: {
    message: 'The provider of "{model}" cannot be reached or failed: {problem}. Try again later, or check the address and the state of the provider.',
    httpStatus: 503,
    retryable: true,
  },
  MODEL_PRICE_UNKNOWN: {
    message:
      'The price of "{model}" is not known, and agent "{agent}" has budget.costUsd. Name the model in the file of LONGSHORE_PRICES and start the workers again, or remove budget.costUsd.',
    httpStatus: 400,
    retryable: false,
  },
  MODEL_SCRIPT_MISMATCH: {
    message: 'Script {file}, step {step}: {problem}. Correct the script, or the agent that it is for.',
    httpStatus: 500,
    retryable: false,
  },
  SANDBOX_NOT_FOUND: { message: 'No sandbox "{sandboxId}". List them with: longshore sandbox ls', httpStatus: 404, retryable: false },
  SANDBOX_IN_USE: {
    message: 'Sandbox "{sandboxId}" belongs to conversation "{conversationId}". Close that first (with onClose: keep), or use another sandbox.',
    httpStatus: 409,
    retryable: false,
  },
  SANDBOX_REFUSED: { message: '{tool} cannot use a sandbox: this agent was given its task so that {problem}.', httpStatus: 409, retryable: false },
  SANDBOX_HELD: { message: 'Sandbox "{sandboxId}" belongs to conversation "{conversationId}", {problem}. {fix}', httpStatus: 409, retryable: false },
  ASSETS_FAILED: {
    message: 'Asset {from} could not be copied to {to}: {problem}. Correct sandbox.assets, or the file that it names.',
    httpStatus: 400,
    retryable: false,
  },
  SANDBOX_LOST: { message: 'The container of sandbox "{sandboxId}" is gone: {problem}. Open the sandbox again to go on.', httpStatus: 503, retryable: false },
  SANDBOX_DESTROYED: { message: 'Sandbox "{sandboxId}" was destroyed. Open a new one.', httpStatus: 410, retryable: false },
  SANDBOX_CLOSED: { message: '{method} cannot be used: this handle on sandbox "{sandboxId}" was {how}. {fix}', httpStatus: 409, retryable: false },
  CHECKPOINT_NOT_FOUND: {
    message: 'There is no checkpoint {checkpoint} any more; newer ones take the place of old ones. See: longshore checkpoints {conversationId}',
    httpStatus: 404,
    retryable: false,
  },
  CHECKPOINTS_ABSENT: {
    message: 'Conversation "{conversationId}" has no checkpoint to compare with. An agent whose file says "checkpoints: turn" makes them.',
    httpStatus: 404,
    retryable: false,
  },
  PATCH_TOO_LARGE: {
    message: 'The patch of conversation "{conversationId}" has more than {limit} bytes. Name some of the paths, or read it over HTTP, where it is a stream.',
    httpStatus: 413,
    retryable: false,
  },
  REWIND_REFUSED: { message: 'Conversation "{conversationId}" cannot be rewound now: {problem}.', httpStatus: 409, retryable: false },
  REWIND_UNCONFIRMED: {
    message: 'Going back in "{conversationId}" does not undo this: {effects}. To go back all the same, confirm with {confirm}.',
    httpStatus: 409,
    retryable: false,
  },
  CHECKPOINT_FAILED: { message: 'No checkpoint of sandbox "{sandboxId}" could be made or used: {problem}', httpStatus: 409, retryable: false },
  SANDBOX_CONFLICT: { message: 'Sandbox "{sandboxId}" is being changed by another caller; try again.', httpStatus: 409, retryable: true },
  SANDBOX_UNREACHABLE: {
    message: 'The supervisor of sandbox "{sandboxId}" cannot be reached: {problem}. Try again; if that does not help, see: longshore sandbox logs {sandboxId}',
    httpStatus: 503,
    retryable: true,
  },
  ...HOST_ERRORS,
  SANDBOX_PROTOCOL: {
    message:
      'The supervisor of sandbox "{sandboxId}" broke the protocol: {problem}. The connection was closed; destroy the sandbox and open a new one: longshore sandbox rm {sandboxId}',
    httpStatus: 502,
    retryable: false,
  },
  SANDBOX_VERSION: {
    message: 'The supervisor in the image speaks protocol {theirs}, this worker {ours}. Build the image again: npx longshore setup --image',
    httpStatus: 500,
    retryable: false,
  },
  SNAPSHOT_NOT_FOUND: {
    message: 'No snapshot "{snapshotId}". It may have been removed or have expired. List snapshots with: longshore sandbox snapshots',
    httpStatus: 404,
    retryable: false,
  },
  SNAPSHOT_LIMIT: {
    message: 'Sandbox "{sandboxId}" has {limit} snapshots with names already, as many as LONGSHORE_SNAPSHOT_LIMIT allows. Remove one of them first.',
    httpStatus: 409,
    retryable: false,
  },
  SNAPSHOT_ELSEWHERE: {
    message:
      'Snapshot "{snapshotId}" is on host "{host}", this is "{here}", and it is not in the blob store yet. Try again when a worker of that host has put it there.',
    httpStatus: 409,
    retryable: true,
  },
  SNAPSHOT_DAMAGED: {
    message: 'Snapshot "{snapshotId}" cannot be restored here: {problem} (blob {blobId}). Restore it on its own host, or remove it.',
    httpStatus: 500,
    retryable: false,
  },
  ARCHIVE_DAMAGED: {
    message:
      'The archive of sandbox "{sandboxId}" is not what was stored: {problem}. It was left as it is; bring blob "{blobId}" back from a backup and try again.',
    httpStatus: 503,
    retryable: false,
  },
  BLOB_NOT_FOUND: { message: 'No blob "{blobId}" in the blob store. Check LONGSHORE_BLOBS of this worker.', httpStatus: 404, retryable: false },
  BLOB_FAILED: { message: 'The blob store failed at "{blobId}": {problem}. Check LONGSHORE_BLOBS.', httpStatus: 502, retryable: true },
  USER_NOT_FOUND: { message: 'Sandbox "{sandboxId}" has no user "{user}" for commands, only {known}. {fix}', httpStatus: 400, retryable: false },
  EXEC_NOT_FOUND: { message: 'No exec "{execId}" in sandbox "{sandboxId}". List the existing ones with execs().', httpStatus: 404, retryable: false },
  EXEC_MISMATCH: {
    message: 'Exec "{execId}" was started with another command; it was not started again. Use another id for another command.',
    httpStatus: 409,
    retryable: false,
  },
  EXEC_FAILED: { message: 'The command could not be started: {problem}', httpStatus: 400, retryable: false },
  FILE_NOT_FOUND: {
    message: 'No such file or directory: {path}. Check the path, and list the directory above it to see what is there.',
    httpStatus: 404,
    retryable: false,
  },
  FILE_FAILED: { message: '{path}: {problem}', httpStatus: 400, retryable: false },
  FILE_CHANGED: { message: '{path} was changed meanwhile: {problem}. Nothing was written; read it again.', httpStatus: 409, retryable: true },
  STDIN_CLOSED: {
    message: '"{execId}" has ended and reads no more input. Its result says how it ended: attach("{execId}").',
    httpStatus: 409,
    retryable: false,
  },
  PORT_CLOSED: {
    message: 'No connection to port {port} of sandbox "{sandboxId}": {problem}. Start a server on this port in the sandbox, and try again',
    httpStatus: 502,
    retryable: true,
  },
  PORT_FAILED: {
    message: 'The server on port {port} of sandbox "{sandboxId}" gives no answer that can be passed on: {problem}',
    httpStatus: 502,
    retryable: true,
  },
  DETACHED: { message: 'Detached from "{execId}"; it runs on in its sandbox. Follow it again with attach("{execId}").', httpStatus: 409, retryable: true },
  INTERRUPTED: { message: '"{callId}" was interrupted. Start it again if it is still needed.', httpStatus: 409, retryable: false },
  DOCKER_UNAVAILABLE: {
    message: 'The Docker engine cannot be reached: {problem}. Start it, or set DOCKER_HOST. See: longshore doctor',
    httpStatus: 503,
    retryable: true,
  },
  DOCKER_FAILED: { message: 'The Docker engine refused to {action}: {problem}. See: longshore doctor', httpStatus: 502, retryable: true },
  IMAGE_NOT_FOUND: {
    message:
      'The sandbox image "{image}" is not on this machine. Build the standard image: npx longshore setup --image. For another one, pull or build it, or name an existing one',
    httpStatus: 503,
    retryable: false,
  },
  TEMPORAL_UNAVAILABLE: {
    message: 'Temporal cannot be reached at {address}: {problem}. Check TEMPORAL_ADDRESS, or start the stack: longshore dev',
    httpStatus: 503,
    retryable: true,
  },
  TEMPORAL_NOT_PREPARED: {
    message: 'The namespace "{namespace}" of Temporal at {address} lacks search attributes of this version: {missing}. {fix}',
    httpStatus: 503,
    retryable: false,
  },
  NO_WORKER: {
    message: 'No worker answered for conversation "{conversationId}" in time: none runs, or all are busy. Start one, or one more: longshore worker',
    httpStatus: 503,
    retryable: true,
  },
  ...DATABASE_ERRORS,
  ...MEMORY_ERRORS,
  ...SERVICE_ERRORS,
  TURN_FAILED: { message: 'Turn {turnId} ended as {outcome}: {problem}', httpStatus: 502, retryable: false },
  CONFIG_INVALID: { message: '{name}: {problem}. {fix}', httpStatus: 500, retryable: false },
  SETUP_FAILED: { message: '{step}: {problem}. {fix}', httpStatus: 500, retryable: false },
  INTERNAL: { message: 'Unexpected: {problem}. See the log of the worker, or of the program that called it.', httpStatus: 500, retryable: true },
} as const satisfies Record<string, ErrorRow>;
