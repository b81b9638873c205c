import type { JsonObject } from '../../contracts/json.ts';
import type { Feed } from './feed.ts';
import type { Operation, RequestOf } from './protocol-types.ts';

export type StreamName = 'stdout' | 'stderr';

/** One operation of the supervisor. It outlives the stream: when the stream breaks, the call is sent again on the next one. */
export interface Call<O extends Operation> extends AnyCall {
  operation: O;
  /** The current fields of the request. A repeated request asks only for what is still missing. */
  fields(): RequestOf<O>;
}

export interface AnyCall {
  operation: Operation;
  fields(): JsonObject;
  /** Bytes that are sent after the supervisor has replied how many of them it has. A function is called again for each request. */
  upload?: Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** Sends the bytes right after the first request, without waiting for the reply. Only for operations that accept this. */
  isUploadAhead?: boolean;
  /** Takes output or file data. While a returned promise is pending, the supervisor gets no further credit. */
  onData?(chunk: Buffer, stream: StreamName): void | Promise<void>;
  /** The call is not sent again when the stream breaks; it rejects with `SANDBOX_UNREACHABLE`. */
  once?: boolean;
  /** Called before the request is sent again. */
  onRepeat?(): void;
  /** Aborting it detaches from the operation: the call rejects with the error of `letGo`. */
  signal?: AbortSignal;
  /** Makes the error for a call that is detached, by its signal or because the connection is closed. */
  letGo?(): Error;
}

/** A call in progress. */
export interface OpenCall {
  call: AnyCall;
  /** Takes the end of the operation. Throws a `ProtocolBreach`, and leaves the call open, when the message is not a valid end. */
  finish(end: Buffer): void;
  fail(error: unknown): void;
  /** Id of the supervisor to which the call was sent first. */
  sentTo?: string;
  /** Number of streams that ended without an answer since the last frame for this call. */
  attempts: number;
  /** Bytes that were delivered and for which no credit was returned yet. */
  owed: number;
  /** Bytes that the supervisor may still send. */
  window: number;
  /** Sends the upload when it is a function. */
  feed?: Feed;
  /** Next byte of the upload; -1 until the supervisor has replied where to begin. */
  position: number;
  /** Bytes that may still be sent to the supervisor. */
  credit: number;
}

/** A call before it is sent for the first time. */
export function unsent(call: AnyCall): Omit<OpenCall, 'finish' | 'fail'> {
  return { call, attempts: 0, owed: 0, window: 0, position: -1, credit: 0 };
}
