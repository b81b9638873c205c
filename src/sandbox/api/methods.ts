import type { Json, JsonObject } from '../../contracts/json.ts';

/** A call of a tool by code in the sandbox. What it asks for is the guest's, and nothing of it was checked. */
export interface MethodCall {
  execId: string;
  /** The n-th call of its exec, for ever. */
  number: number;
  tool: string;
  arguments: JsonObject;
  /** A worker was told of it before, this one or another, and may have acted on it. */
  repeated: boolean;
}
/** Becomes the value of the call in the guest's language, or an exception. */
export type MethodAnswer = { ok: Json } | { error: { code: string; message: string } };
