import type { JsonObject } from '../../contracts/json.ts';

/** Larger arguments are only in the ledger: an event has their size instead. */
const MOST_BYTES = 16_384;

/** What an event contains about a call's arguments. */
export function shownArguments(given: JsonObject): { arguments: JsonObject } | { argumentsBytes: number } {
  const bytes = Buffer.byteLength(JSON.stringify(given));
  return bytes <= MOST_BYTES ? { arguments: given } : { argumentsBytes: bytes };
}
