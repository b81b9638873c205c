import type { JsonObject } from '../../contracts/json.ts';

/** Larger arguments are in the ledger alone: an event tells their size. */
const MOST_BYTES = 16_384;

/** What an event says of a call's arguments. */
export function shownArguments(given: JsonObject): { arguments: JsonObject } | { argumentsBytes: number } {
  const bytes = Buffer.byteLength(JSON.stringify(given));
  return bytes <= MOST_BYTES ? { arguments: given } : { argumentsBytes: bytes };
}
