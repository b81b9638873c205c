import { z } from 'zod';
import { stableJson } from '../../common/stable-json.ts';
import type { Agent } from '../../contracts/agent.ts';
import { MAX_REQUESTED_CHARACTERS, MAX_REQUESTED_TOOLS, type ClientTools } from '../../contracts/client-tool.ts';
import { failure } from '../../contracts/errors.ts';
import { toClientTools, clientToolsSchema } from '../../definitions/agents/client-tool-schema.ts';
import { asKept } from '../../store/database/json-text.ts';
import { asJsonSchema, checkSchema } from '../types/output-schema.ts';

/** The `clientTools` of a conversation or a message, as callers give them: their schemas may be zod's. */
export const requestedTools = z
  .record(z.string(), z.looseObject({ parameters: asJsonSchema.optional(), output: asJsonSchema.optional() }))
  .pipe(clientToolsSchema)
  .superRefine((tools, context) => {
    const refuse = (message: string, fix: string) => context.addIssue({ code: 'custom', message, params: { fix }, input: tools });
    const count = Object.keys(tools).length;
    if (count > MAX_REQUESTED_TOOLS) refuse(`there are ${count}`, `Declare up to ${MAX_REQUESTED_TOOLS}`);
    const { length } = JSON.stringify(tools);
    if (length > MAX_REQUESTED_CHARACTERS) refuse(`they have ${length} characters as JSON`, `Declare tools of up to ${MAX_REQUESTED_CHARACTERS}`);
  });
export type RequestedTools = z.output<typeof requestedTools>;

/** Whether a message that is stored declares the same as a request. */
export function declaresSame(known: ClientTools | undefined, requested: RequestedTools | undefined): boolean {
  return stableJson(known ?? null) === asKept(stableJson(requested ? toClientTools(requested) : null));
}

/**
 * The tools that a request declares, when its agent lets it do so and their schemas can be used. These are compiled in a thread with a time limit, before anything
 * is stored.
 * @throws CLIENT_TOOLS_REFUSED
 */
export async function acceptTools(
  agent: Pick<Agent, 'id' | 'clientTools' | 'clientToolsFromRequests'>,
  requested: RequestedTools | undefined,
  { tenant, unattended }: { tenant: string; unattended?: boolean | undefined },
): Promise<ClientTools | undefined> {
  if (requested === undefined) return undefined;
  if (agent.clientToolsFromRequests !== true) {
    const fix = `Leave them out, or write "clientToolsFromRequests: true" in its file`;
    throw failure('CLIENT_TOOLS_REFUSED', { problem: `the agent "${agent.id}" takes none from requests`, fix });
  }
  if (unattended) throw failure('CLIENT_TOOLS_REFUSED', { problem: 'an unattended conversation has no clients', fix: 'Leave them out' });
  const own = Object.keys(requested).find((name) => Object.hasOwn(agent.clientTools ?? {}, name));
  if (own !== undefined) {
    throw failure('CLIENT_TOOLS_REFUSED', {
      problem: `"${own}" is declared in the file of the agent "${agent.id}"`,
      fix: 'Leave it out, or give it another name',
    });
  }
  const tools = toClientTools(requested);
  for (const [name, { parameters, output }] of Object.entries(tools)) {
    for (const [part, schema] of Object.entries({ parameters, output })) {
      if (schema) await checkSchema(`client tools of ${tenant}`, schema, (why, cause) => unusable(`the ${part} of "${name}"`, why, cause));
    }
  }
  return tools;
}

function unusable(what: string, why: string, cause?: Error): Error {
  const fix = 'Correct it; drafts 4, 6, 7, 2019-09 and 2020-12 are known';
  return failure('CLIENT_TOOLS_REFUSED', { problem: `${what} are not a valid JSON Schema (${why})`, fix }, cause);
}
