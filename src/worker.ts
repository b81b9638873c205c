export { createWorker, type LongshoreWorker, type WorkerOptions } from './worker/create-worker.ts';
export { registerSandboxBackend, createSandboxes, type SandboxBackend, type SandboxBackendParts } from './sdk/backends.ts';
