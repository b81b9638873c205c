/** Time for a request's head, in milliseconds: one that is sent slowly holds no connection for long. */
export const HEAD_MS = 10_000;
/** How often heads that are late are looked for. */
export const HEAD_CHECK_MS = 2_000;
/** Bytes of a request's head, as Node.js has it. */
export const HEAD_BYTES = 16_384;
/** Time for the whole of a request, in milliseconds: one that is sent slowly holds no connection for long. */
export const REQUEST_MS = 60_000;
/** What a caller still sends of a request that has its answer is read for so many milliseconds, since the end of the connection may cost the answer. */
export const LATE_BODY_MS = 5_000;
/** A connection that sends no other request is closed after so many milliseconds. */
export const IDLE_MS = 30_000;
/** Requests that may wait on one connection for the one before them. */
export const PIPELINED = 100;
/** Requests of one key whose bodies are on their way. */
export const BODIES_PER_KEY = 100;
/** Of bodies of one key that are read as a whole. */
export const BODY_BYTES_PER_KEY = 300_000_000;
/** Bytes of answers that one key has been given and has not read. */
export const UNREAD_BYTES = 64 * 1024 * 1024;

/** Connections that a process has open. */
export interface ConnectionLimits {
  total: number;
  /** Of one address of the network. */
  perAddress: number;
}

export const CONNECTIONS: ConnectionLimits = { total: 10_000, perAddress: Infinity };
