import { z } from 'zod';
import { freeExec } from '../../../contracts/call-ids.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { SandboxServer, ServerAnswer, ServerRequestOptions } from '../../../sandbox/api/host-methods.ts';
import type { ServerSandbox } from '../../api/plugin.ts';
import { aboutServer, MAX_PAGES, MORE_PAGES, type ListedTools } from './offers/listed-tools.ts';

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
    if (answer.outcome === 'refused' && about?.offers && !about.offers.includes('tools'))
      return { version: about.version, tools: [], ...aboutServer({ offers: about.offers, instructions: about.instructions }) };
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
