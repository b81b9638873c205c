import { z } from 'zod';
import { freeExec } from '../../../contracts/call-ids.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { SandboxServer, ServerAnswer, ServerRequestOptions } from '../../../sandbox/api/host-methods.ts';
import type { ServerSandbox } from '../../api/plugin.ts';
import { OFFERS, type Offer } from './offers/offered-tools.ts';
import { MAX_PAGES, MORE_PAGES } from './server-tools.ts';

export interface ListedTools {
  /** The server's own version. */
  version: string;
  /** As the server sends them; not checked yet. */
  tools: unknown[];
  /** What it offers besides tools; absent for nothing. */
  offers?: Offer[];
  /** What it says about itself, for models. */
  instructions?: string;
}

/** What a server has said about itself. `withTools`: it offers tools; the others have none to list. */
export function aboutServer({ offers, instructions }: { offers: string[]; instructions?: string | undefined }): Pick<ListedTools, 'offers' | 'instructions'> {
  const known = OFFERS.filter((offer) => offers.includes(offer));
  return { ...(known.length > 0 && { offers: known }), ...(instructions && { instructions }) };
}

/** The same as it is stored. */
export const LISTED_TOOLS: z.ZodType<ListedTools> = z.object({
  version: z.string(),
  tools: z.array(z.unknown()),
  offers: z.array(z.enum(OFFERS)).exactOptional(),
  instructions: z.string().exactOptional(),
});

type Asking = Required<Pick<ServerRequestOptions, 'timeoutMs'>> & Pick<ServerRequestOptions, 'onRestart'>;

const PAGE = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Asks a server in a sandbox for all its tools. @throws an Error with the reason when they cannot be listed */
export async function askForTools(sandbox: Pick<ServerSandbox, 'callServer' | 'forget'>, server: SandboxServer, asking: Asking): Promise<ListedTools> {
  const tools: unknown[] = [];
  let version = '0';
  let said: Pick<ListedTools, 'offers' | 'instructions'> = {};
  let params: JsonObject = {};
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const execId = freeExec();
    const answer = await sandbox.callServer(server, { method: 'tools/list', params }, { ...asking, execId });
    // No later attempt needs this exec.
    await sandbox.forget(execId).catch(() => undefined);
    const about = 'server' in answer ? answer.server : undefined;
    // A server without tools need not know how to list them.
    if (answer.outcome === 'refused' && about?.offers && !about.offers.includes('tools')) return { version: about.version, tools: [], ...aboutServer({ offers: about.offers, instructions: about.instructions }) };
    if (answer.outcome !== 'answered') throw new Error(reasonOf(answer, asking.timeoutMs));
    const { tools: more, nextCursor } = PAGE.parse(answer.result);
    tools.push(...more);
    version = answer.server.version || version;
    said = aboutServer({ offers: answer.server.offers ?? [], instructions: answer.server.instructions });
    if (nextCursor === undefined || nextCursor === params['cursor']) return { version, tools, ...said };
    params = { cursor: nextCursor };
  }
  return { version, tools: [...tools, MORE_PAGES], ...said };
}

function reasonOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>, timeoutMs: number): string {
  if ('why' in answer) return answer.why;
  return 'message' in answer ? answer.message : `it did not answer within ${timeoutMs / 1000} seconds`;
}
