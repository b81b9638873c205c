import type { Socket } from 'node:net';
import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { ask } from '../../hosts/client/exchanges.ts';
import type { ExecInfo } from '../../sandbox/api/commands.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { isUpgrade } from '../http/upgrades.ts';
import { conversationId, conversationParams, refusals, seq } from '../routes/schemas.ts';
import { COMMAND_ERRORS } from '../sandbox/sandbox-errors.ts';
import { targetOf } from '../sandbox/target-of.ts';
import { untilGone } from '../http/until-gone.ts';
import { acceptSocket } from './accept-socket.ts';
import { LARGEST } from './terminal-messages.ts';
import { runSession } from './terminal-session.ts';

const EXEC = { scope: 'sandbox:exec', errors: [...COMMAND_ERRORS, 'STREAM_LIMIT'] } as const;
const PREFIX = 'term_';
const OWN = /^term_(.+)$/;
const size = seq.pipe(z.int().min(1).max(LARGEST)).optional();

/** Terminals in sandboxes, for people. */
export function addTerminalRoutes(api: Api, parts: RouteParts): void {
  addList(api, parts);
  addTerminal(api, parts);
}

function addList(api: Api, { store, hosts }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/terminals',
    {
      config: EXEC,
      schema: {
        summary: 'List the terminals of a sandbox',
        description: 'A WebSocket to `/v1/conversations/{id}/terminals/{name}` attaches to one, or opens it.',
        tags: ['commands'],
        params: conversationParams,
        response: {
          200: z.object({
            terminals: z.array(
              z
                .object({ name: z.string(), state: z.enum(['running', 'ended', 'lost']), outputBytes: z.number(), startedAt: z.string() })
                .meta({ id: 'Terminal' }),
            ),
          }),
          ...refusals,
        },
      },
    },
    async ({ caller, params }, reply) => {
      const target = await targetOf(store, caller, params.id);
      const commands = (await ask(hosts, target, { do: 'commands.list' }, untilGone(reply.raw))) as unknown as ExecInfo[];
      return { terminals: commands.flatMap(terminalOf) };
    },
  );
}

/** None for a command that is no terminal of a caller. */
function terminalOf({ execId, state, stdoutBytes: outputBytes, startedAt }: ExecInfo) {
  const [, name] = OWN.exec(execId) ?? [];
  return name === undefined ? [] : [{ name, state, outputBytes, startedAt }];
}

function addTerminal(api: Api, { store, hosts, streams, idleMs, times, closing }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/terminals/:name',
    {
      config: { ...EXEC, isWebSocket: true },
      schema: {
        summary: 'Attach to a terminal, over a WebSocket',
        description:
          'Opens the terminal if there is none of this name. Bytes of the server are output, bytes of the client input. Texts are JSON: the server says `ready`, `exit`, `problem`, ' +
          'the client `input`, `resize`, `kill`. Pages of browsers give their key as a protocol, `bearer.<key>`, beside `longshore.terminal`. A request without the wish for a WebSocket is refused.',
        tags: ['commands'],
        params: z.object({
          id: conversationId,
          name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'use up to 100 letters, digits, "_", "." and "-"'),
        }),
        querystring: z.strictObject({
          columns: size.meta({ description: 'Of a new terminal; default 80' }),
          rows: size.meta({ description: 'Of a new terminal; default 24' }),
          command: z.string().optional().meta({ description: 'What a new terminal runs; default a login shell' }),
          cwd: z.string().optional().meta({ description: 'Where a new terminal starts' }),
          user: z.string().optional().meta({ description: 'As whom a new terminal runs' }),
          from: seq.optional().meta({ description: 'The first byte of output that is wanted; default 0' }),
        }),
        response: { 101: z.undefined(), ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, held, params, query, raw } = request;
      const target = await targetOf(store, caller, params.id);
      if (!isUpgrade(raw))
        throw failure('INVALID_ARGUMENT', { what: 'request', problem: 'it asks for no WebSocket', fix: 'Connect with a client of WebSockets' });
      const { from = 0, ...open } = query;
      const attach = async () => {
        const { signal, release } = whileConnected(raw.socket);
        const call = await hosts.open(target, { do: 'terminals.attach', execId: PREFIX + params.name, from, ...withoutUndefined(open) }, signal);
        try {
          // The first message says that there is a terminal.
          await call.messages.next();
          const socket = await acceptSocket(request, reply);
          await runSession({ socket, call, from, idleMs, times, closing }, request);
        } finally {
          release();
          call.abort();
        }
      };
      await streams.wait(caller.keyId, attach, leastOf(held, 'streams'));
      return reply;
    },
  );
}

/** Aborts when the connection of a request is closed. */
function whileConnected(socket: Socket): { signal: AbortSignal; release: () => void } {
  const gone = new AbortController();
  const leave = () => gone.abort();
  socket.once('close', leave);
  // A caller that has gone already says so no more.
  if (socket.destroyed) leave();
  return { signal: gone.signal, release: () => void socket.off('close', leave) };
}
