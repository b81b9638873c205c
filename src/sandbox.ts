/** `longshore/sandbox`: sandboxes without a conversation, and backends of your own. */
export { openSandbox } from './sdk/open-sandbox.ts';
export type { ForkOptions, ListOptions, OpenSandboxOptions, RestoreOptions, SnapshotsOptions, WhereOptions } from './sdk/option-types.ts';
export type { OpenSandbox } from './sdk/opened-sandbox.ts';
export { sandboxes, type SandboxById } from './sdk/sandboxes-by-id.ts';
export type { SandboxControl } from './sdk/sandbox-control.ts';
export type { SandboxInfo } from './sdk/sandbox-info.ts';
export { registerSandboxBackend, type SandboxBackend, type SandboxBackendParts } from './sdk/backends.ts';
export type * from './sandbox/api/sandbox.ts';
export type * from './sandbox/api/host-sandboxes.ts';
export type * from './sandbox/api/code.ts';
export type * from './sandbox/api/commands.ts';
export type * from './sandbox/api/files.ts';
export type * from './sandbox/api/host-methods.ts';
export type * from './sandbox/api/methods.ts';
export type * from './contracts/host-facts.ts';
export type * from './sandbox/api/snapshots.ts';
export type * from './sandbox/api/terminals.ts';
export { isFailure, LongshoreError } from './contracts/errors.ts';
