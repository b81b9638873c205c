import { createHash } from 'node:crypto';
import { z } from 'zod';
import { pause } from '../../../common/pause.ts';
import type { Json, JsonObject } from '../../../contracts/json.ts';
import { MAX_QUESTION_MS } from '../../../contracts/questions/question.ts';
import type { ServerRequest } from '../../../sandbox/api/host-methods.ts';
import { isPostgresAway } from '../../../store/database/database-failures.ts';
import type { PluginStore, ToolContext } from '../../api/define-plugin.ts';
import type { KeptRounds, Round } from './connection/rounds.ts';

const OBJECT: z.ZodType<JsonObject> = z.record(z.string(), z.json());
const KEPT = z.object({
  /** Digest of the server and the request. */
  of: z.string(),
  round: z.object({ state: z.string().exactOptional(), asks: z.record(z.string(), OBJECT), before: z.number(), asked: z.number() }),
});
const PAUSE_MS = 1_000;
/** Longer than a person may take to answer. */
const TTL_MS = MAX_QUESTION_MS + 3_600_000;

/**
 * Keeps the open round of a call in the store of its server's plugin, under the id of the call, as the id of a task is kept. Only the same request to the same server
 * goes on with it: the state of a request is not given to another server that has the name by now.
 * @param place what the server is
 */
export function keptRounds(place: string, { callId, store, logger, signal }: Pick<ToolContext, 'callId' | 'store' | 'logger' | 'signal'>): KeptRounds {
  const key = keyOf(callId);
  return {
    async open(request) {
      const kept = KEPT.safeParse(await store.get(key)).data;
      return kept?.of === digestOf(place, request) ? kept.round : undefined;
    },
    async keep(request, round: Round) {
      const kept = { of: digestOf(place, request), round: { ...round } } as unknown as Json;
      // Without this the call is lost with its worker, as others are.
      await store.set(key, kept, { ttlMs: TTL_MS }).catch((error: Error) => logger.warn(`what a server asks could not be stored: ${error.message}`));
    },
    async forget() {
      for (;;) {
        try {
          return void (await store.delete(key));
        } catch (error) {
          // People have answered by now.
          if (!isPostgresAway(error) || signal.aborted) throw error;
          await pause(PAUSE_MS, signal);
        }
      }
    },
  };
}

/** Whether the server of a call waits for input, so that nothing of the call is in progress. */
export async function isWaiting(store: PluginStore, callId: string): Promise<boolean> {
  return (await store.entry(keyOf(callId))) !== undefined;
}

function digestOf(place: string, request: ServerRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([place, request]))
    .digest('hex')
    .slice(0, 32);
}

function keyOf(callId: string): string {
  return `round ${callId}`;
}
