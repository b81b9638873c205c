import { LOG_LEVEL_META_KEY, withInputRequired, type CallToolRequest, type Client } from '@modelcontextprotocol/client';
import { isObject, type Json, type JsonObject } from '../../../../contracts/json.ts';
import type { Sampling } from '../../../../contracts/mcp/server.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import { aboutServer } from '../offers/listed-tools.ts';
import { offersIn } from '../offers/offered-tools.ts';
import { ANY_RESULT, listTools, optionsOf, type CallOptions, type Talk } from './client-requests.ts';
import { hasHeaderParameters, problemOfHeaders } from './header-parameters.ts';
import type { Heard } from './heard.ts';
import { callInRounds } from './rounds.ts';
import { createSubscriptions, type Lists } from './subscriptions.ts';

interface Parts {
  name: string;
  sampling: Sampling | undefined;
  heard: Heard;
  /** Arguments are sent in headers, too. */
  isHttp: boolean;
  /** Aborts when the connection ends. */
  ended: AbortSignal;
  onLost: () => void;
}

const ANY_OUTCOME = withInputRequired(ANY_RESULT);

/** How a server of the revision 2026-07-28 is talked to: each request stands for itself, and what a server asks is an answer to it. */
export function talkWithoutHandshake(client: Client, { name, sampling, heard, isHttp, ended, onLost }: Parts): Talk {
  const { tools: hasTools, tasks: _older, ...others } = client.getServerCapabilities() ?? {};
  const logged = others.logging ? { _meta: { [LOG_LEVEL_META_KEY]: 'info' } } : {};
  /** Schemas of the tools whose arguments are sent in headers, by name. */
  const inHeaders = new Map<string, JsonObject>();
  const lists: Lists = {
    ...(hasTools?.listChanged && { toolsListChanged: true }),
    ...(others.prompts?.listChanged && { promptsListChanged: true }),
    ...(others.resources?.listChanged && { resourcesListChanged: true }),
  };
  const subscriptions = createSubscriptions({ client, lists, ended, onGap: heard.toolsChanged, onProblem: heard.problem, onLost });
  const begun = subscriptions.begin();
  return { list, call };

  async function list(): ReturnType<Talk['list']> {
    // What changes after that is told.
    await begun;
    const given = hasTools ? await listTools(client) : [];
    const problems = isHttp ? noteHeaders(given) : new Map<unknown, string>();
    const said = aboutServer({ offers: offersIn(others), instructions: client.getInstructions() });
    return { tools: given.filter((tool) => !problems.has(tool)), inRounds: true, ...said, ...(problems.size > 0 && { problems: [...problems.values()] }) };
  }

  /** Returns the tools whose headers cannot be made, with the reasons. */
  function noteHeaders(given: unknown[]): Map<unknown, string> {
    const problems = new Map<unknown, string>();
    inHeaders.clear();
    for (const tool of given) {
      const { name: of, inputSchema: schema } = isObject(tool) ? tool : ({} as JsonObject);
      if (typeof of !== 'string' || !isObject(schema) || !hasHeaderParameters(schema)) continue;
      const problem = problemOfHeaders(schema);
      if (problem === undefined) inHeaders.set(of, schema);
      else problems.set(tool, `Its tool ${JSON.stringify(cutMiddle(of, 100))} is left out: ${problem}`);
    }
    return problems;
  }

  async function call(request: ServerRequest, options: CallOptions): Promise<JsonObject> {
    const { method, params } = request;
    if (method === 'resources/subscribe') return subscriptions.add(textOf(params['uri'])).then(() => ({}));
    if (method === 'resources/unsubscribe') {
      subscriptions.remove(textOf(params['uri']));
      return {};
    }
    const { askPerson, model, signal, rounds: kept } = options;
    return callInRounds(request, {
      server: name,
      sampling,
      signal,
      kept,
      ...(askPerson && { askPerson }),
      ...(model && { model }),
      send: (given) => send(given, options),
    });
  }

  async function send({ method, params: given }: ServerRequest, options: CallOptions): Promise<JsonObject> {
    const params: JsonObject = { ...given, ...logged };
    const how = { ...optionsOf(options), allowInputRequired: true };
    if (method !== 'tools/call') return (await client.request({ method, params }, ANY_OUTCOME, how)) as JsonObject;
    const tool = textOf(params['name']);
    // The library makes the headers; it reads no more of the definition.
    const toolDefinition = { name: tool, inputSchema: { ...inHeaders.get(tool), type: 'object' as const } };
    return (await client.callTool(params as unknown as CallToolRequest['params'], { ...how, toolDefinition })) as JsonObject;
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
