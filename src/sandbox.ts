/** `longshore/sandbox`: sandboxes without a conversation, and backends of your own. */
export { openSandbox, type OpenSandboxOptions } from './sandbox/open-sandbox.ts';
export type { OpenSandbox } from './sandbox/opened-sandbox.ts';
export { sandboxes, type ListOptions, type RestoreOptions, type SandboxById, type SnapshotsOptions } from './sandbox/sandboxes-by-id.ts';
export type { ForkOptions, SandboxControl } from './sandbox/sandbox-control.ts';
export type { SandboxInfo } from './sandbox/sandbox-info.ts';
export type { WhereOptions } from './sandbox/with-sandboxes.ts';
export { registerSandboxBackend, type SandboxBackend, type SandboxBackendParts } from './sandbox/backends.ts';
export type * from './sandbox/sandbox.ts';
export type * from './sandbox/files.ts';
export type * from './sandbox/host-facts.ts';
export type * from './sandbox/snapshots.ts';
export type * from './sandbox/terminals.ts';
export { isFailure, LongshoreError } from './contracts/errors.ts';
