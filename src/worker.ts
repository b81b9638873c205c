export { createWorker, type LongshoreWorker } from './worker/create-worker.ts';
export type { WorkerOptions } from './worker/worker-options.ts';
export { registerSandboxBackend, createSandboxes, type SandboxBackend, type SandboxBackendParts } from './sdk/backends.ts';
