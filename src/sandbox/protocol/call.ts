import type { JsonObject } from '../../contracts/json.ts';
import type { Feed } from './feed.ts';
import type { Operation, RequestOf } from './protocol-types.ts';

export type StreamName = 'stdout' | 'stderr';

/** One operation asked of the supervisor. It outlives the streams it travels on: when one breaks, it is sent again on the next. */
export interface Call<O extends Operation> extends AnyCall {
  operation: O;
  /** The request's fields as they are now; a repeated request asks for what is still missing. */
  fields(): RequestOf<O>;
}

export interface AnyCall {
  operation: Operation;
  fields(): JsonObject;
  /** Bytes that follow the request, once the supervisor has said how many it has already; a source is opened anew for each request. */
  upload?: Uint8Array | (() => AsyncIterable<Uint8Array>);
  /** Bytes are sent right behind the request when it is sent for the first time, for operations that take them at once. */
  isUploadAhead?: boolean;
  /** Takes output or file data; a promise holds back the supervisor until it is kept. */
  onData?(chunk: Buffer, stream: StreamName): void | Promise<void>;
  /** Not sent again when the stream breaks: it rejects with `SANDBOX_UNREACHABLE`. */
  once?: boolean;
  /** Called before the request is sent again. */
  onRepeat?(): void;
  /** Lets go of the operation: it rejects with what `letGo` makes. */
  signal?: AbortSignal;
  /** The error for a call that is let go of, by its signal or because the connection is closed. */
  letGo?(): Error;
}

/** A call in progress. */
export interface OpenCall {
  call: AnyCall;
  /** Takes the operation's end; throws a `ProtocolBreach`, and leaves the call open, when it is none. */
  finish(end: Buffer): void;
  fail(error: unknown): void;
  /** Id of the supervisor it was sent to first. */
  sentTo?: string;
  /** Times it was sent without an answer since the last progress. */
  attempts: number;
  /** Bytes delivered for which no credit was given back yet. */
  owed: number;
  /** Bytes that the supervisor may still send. */
  window: number;
  /** Sends the upload when it is a source. */
  feed?: Feed;
  /** Next byte of the upload; -1 until the supervisor has said where to begin. */
  position: number;
  /** Bytes that we may still send. */
  credit: number;
}
