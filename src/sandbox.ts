/** `longshore/sandbox`: sandboxes without a conversation, and backends of your own. */
export { openSandbox, type OpenSandbox, type OpenSandboxOptions } from './sandbox/open-sandbox.ts';
export { registerSandboxBackend, type SandboxBackend, type SandboxBackendParts } from './sandbox/backends.ts';
export type * from './sandbox/sandbox.ts';
export type * from './sandbox/files.ts';
export type * from './sandbox/host-facts.ts';
export type * from './sandbox/terminals.ts';
export { isFailure, LongshoreError } from './contracts/errors.ts';
