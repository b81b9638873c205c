import { z } from 'zod';
import { abortAfter } from '../../common/abort-after.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { freeExec } from '../../contracts/call-ids.ts';
import { failure } from '../../contracts/errors.ts';
import { SIGNALS } from '../../hosts/channel/calls.ts';
import { ask } from '../../hosts/client/exchanges.ts';
import type { Target } from '../../hosts/client/host-client.ts';
import type { CommandResult, ExecInfo } from '../../sandbox/api/commands.ts';
import type { Caller } from '../auth/caller.ts';
import { repeatableIds } from '../http/idempotency.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationParams, idempotencyHeader, refusals } from '../routes/schemas.ts';
import { requireWait, wait, whileWaiting } from '../routes/turns.ts';
import { command, commandResult, execParams, newCommand } from './command-schemas.ts';
import { COMMAND_ERRORS } from './sandbox-errors.ts';
import { targetOf } from './target-of.ts';
import { untilGone } from '../http/until-gone.ts';

const EXEC = { scope: 'sandbox:exec', errors: COMMAND_ERRORS } as const;
const START = { scope: 'sandbox:exec', errors: [...COMMAND_ERRORS, 'STREAM_LIMIT'] } as const;

export function addCommandRoutes(api: Api, parts: RouteParts): void {
  addStart(api, parts);
  addStates(api, parts);
  addKill(api, parts);
}

function addStart(api: Api, parts: RouteParts): void {
  const { store, hosts, closing } = parts;
  api.post(
    '/v1/conversations/:id/commands',
    {
      config: { ...START, repeated: 'ids' },
      schema: {
        summary: 'Start a command in the sandbox of a conversation',
        description:
          'With `wait`, 201 has its result if it ends in that time; otherwise 202, and it goes on. It keeps the sandbox awake until it ends. ' +
          'A start that is repeated with the same `id`, or the same `Idempotency-Key`, is one command.',
        tags: ['commands'],
        params: conversationParams,
        headers: z.looseObject(idempotencyHeader),
        querystring: z.strictObject({ wait }),
        body: newCommand,
        response: { 201: z.object({ command, result: commandResult }), 202: z.object({ command }), ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, params, query, body, headers } = request;
      const { id, command: text, stdin, openStdin = false, ...options } = body;
      if (openStdin && stdin !== undefined) {
        throw failure('INVALID_ARGUMENT', { what: 'body.stdin', problem: 'there is openStdin, too', fix: 'Give one of the two' });
      }
      const target = await targetOf(store, caller, params.id);
      const execId = execIdOf(parts, caller, headers, target, id);
      requireWait(parts, request);
      const signal = untilGone(reply.raw);
      const input = openStdin ? { openStdin } : { stdin };
      const call = { do: 'commands.start', command: text, execId, ...withoutUndefined({ ...options, ...input }) } as const;
      const started = (await ask(hosts, target, call, signal)) as unknown as ExecInfo;
      const inTime = abortAfter((query.wait ?? 0) * 1000, signal, closing);
      const result = query.wait ? await whileWaiting(parts, request, () => resultOf({ hosts }, target, execId, inTime)) : undefined;
      if (!result) return reply.code(202).send({ command: started });
      const ended = (await ask(hosts, target, { do: 'commands.info', execId }, signal)) as unknown as ExecInfo;
      return reply.code(201).send({ command: ended, result });
    },
  );
}

/** Callers' own names have a prefix, so that none is the name of a command of a tool call. */
function execIdOf(
  parts: Pick<RouteParts, 'client'>,
  caller: Caller,
  headers: Record<string, unknown>,
  { conversationId }: Target,
  id: string | undefined,
): string {
  if (id !== undefined) return `run_${id}`;
  return repeatableIds(parts, caller, headers, `command of ${conversationId}`)?.id('call') ?? freeExec();
}

/** Undefined when the signal aborts before its end. */
async function resultOf({ hosts }: Pick<RouteParts, 'hosts'>, target: Target, execId: string, signal: AbortSignal): Promise<CommandResult | undefined> {
  try {
    return (await ask(hosts, target, { do: 'commands.wait', execId }, signal)) as unknown as CommandResult;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function addStates(api: Api, { store, hosts }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/commands',
    {
      config: EXEC,
      schema: {
        summary: 'List the commands of a sandbox',
        description: "Also those of the agent's tool calls.",
        tags: ['commands'],
        params: conversationParams,
        response: { 200: z.object({ commands: z.array(command) }), ...refusals },
      },
    },
    async ({ caller, params }, reply) => {
      const target = await targetOf(store, caller, params.id);
      return { commands: (await ask(hosts, target, { do: 'commands.list' }, untilGone(reply.raw))) as unknown as ExecInfo[] };
    },
  );
  api.get(
    '/v1/conversations/:id/commands/:execId',
    { config: EXEC, schema: { summary: 'Show a command', tags: ['commands'], params: execParams, response: { 200: command, ...refusals } } },
    async ({ caller, params }, reply) => {
      const target = await targetOf(store, caller, params.id);
      return (await ask(hosts, target, { do: 'commands.info', execId: params.execId }, untilGone(reply.raw))) as unknown as ExecInfo;
    },
  );
}

function addKill(api: Api, { store, hosts }: RouteParts): void {
  api.post(
    '/v1/conversations/:id/commands/:execId/kill',
    {
      config: { ...EXEC, repeated: 'answer' },
      schema: {
        summary: 'Send a signal to a command and all that it started',
        description: 'SIGTERM, the default, is followed by SIGKILL after 2 seconds. `signalled` is false when nothing of it runs any more.',
        tags: ['commands'],
        params: execParams,
        body: z.strictObject({ signal: z.enum(SIGNALS).optional() }).optional(),
        response: { 200: z.object({ signalled: z.boolean() }), ...refusals },
      },
    },
    async ({ caller, params, body }, reply) => {
      const target = await targetOf(store, caller, params.id);
      const call = { do: 'commands.kill', execId: params.execId, ...withoutUndefined({ signal: body?.signal }) } as const;
      return { signalled: (await ask(hosts, target, call, untilGone(reply.raw))) as boolean };
    },
  );
}
