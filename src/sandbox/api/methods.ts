import type { Json, JsonObject } from '../../contracts/json.ts';

/** A call of a tool by code in the sandbox. `tool` and `arguments` come from the guest and are not checked. */
export interface MethodCall {
  execId: string;
  /** Counts the calls of the exec from 1. It never changes. */
  number: number;
  tool: string;
  arguments: JsonObject;
  /** The call was reported before, to this worker or another one, which may have acted on it. */
  repeated: boolean;
}
/** Becomes the return value of the call in the guest's language, or an exception. */
export type MethodAnswer = { ok: Json } | { error: { code: string; message: string } };
