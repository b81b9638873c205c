import { GrowingBytes } from '../../../common/lines/growing-bytes.ts';
import type { Json, JsonObject } from '../../../contracts/json.ts';
import { excessOf, tryParseForeign } from '../../../contracts/foreign-json.ts';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import type { Mask } from '../secrets/mask.ts';
import type { ServerAnswer, ServerFacts } from '../../api/host-methods.ts';

/** JSON-RPC's code of an internal error. */
const TOO_MUCH = -32_603;
/** Bytes of a text that may be the end of a longer one: mcp_process.py keeps 500 of a server's last words, and cuts spaces from them. */
const MAY_BE_CUT = 400;

interface Listeners {
  onProgress?: (line: string) => void;
  onRestart?: (why: string) => void;
}

export interface ServerReader {
  push(chunk: Buffer): void;
  /** The last answer to the request; undefined when there was none. */
  answer(): ServerAnswer | undefined;
}

/** Reads the lines about a request. The guest may have forged them: what is not valid is left out. The output limit of the exec bounds their size. */
export function createServerReader({ onProgress, onRestart }: Listeners, mask?: Mask): ServerReader {
  const pending = new GrowingBytes();
  let answer: ServerAnswer | undefined;
  const take = (line: Buffer): void => {
    const text = line.toString();
    const excess = excessOf(text);
    if (excess !== undefined) answer = { outcome: 'refused', code: TOO_MUCH, message: `its answer ${excess}` };
    const told = asObject(tryParseForeign(text));
    if (told['type'] === 'progress') onProgress?.(cutMiddle(textOf(told['text']), 200));
    else if (told['type'] === 'restarted') onRestart?.(`it had ended (${cutMiddle(whyOf(told, mask), 500)})`);
    else answer = toAnswer(told, mask) ?? answer;
  };
  return {
    push(chunk) {
      let rest = chunk;
      for (let newline = rest.indexOf(10); newline >= 0; newline = rest.indexOf(10)) {
        pending.add(rest.subarray(0, newline));
        take(pending.take());
        rest = rest.subarray(newline + 1);
      }
      pending.add(rest);
    },
    answer: () => answer,
  };
}

function toAnswer(told: JsonObject, mask: Mask | undefined): ServerAnswer | undefined {
  switch (told['type']) {
    case 'answer': {
      return { outcome: 'answered', result: asObject(told['result']), server: factsIn(told['server']) };
    }
    case 'error':
      return {
        outcome: 'refused',
        code: typeof told['code'] === 'number' ? told['code'] : 0,
        message: textOf(told['message']),
        ...(told['server'] !== undefined && { server: factsIn(told['server']) }),
      };
    case 'failed':
      return { outcome: 'absent', why: whyOf(told, mask) };
    case 'gone':
      return { outcome: 'gone', why: whyOf(told, mask) };
    default:
      return undefined;
  }
}

/** What a server wrote last; the guest does not know which texts are secrets, and may have cut one at the start. */
function whyOf(told: JsonObject, mask: Mask | undefined): string {
  const why = textOf(told['why']);
  return mask && Buffer.byteLength(why) >= MAY_BE_CUT ? mask.edges('', why.replace(/^\uFFFD+/, '')).tail : why;
}

function factsIn(told: Json | undefined): ServerFacts {
  const { name, version, offers, instructions } = asObject(told);
  return {
    name: textOf(name),
    version: textOf(version),
    ...(Array.isArray(offers) && { offers: offers.filter((offer) => typeof offer === 'string') }),
    ...(typeof instructions === 'string' && { instructions }),
  };
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
