import { z } from 'zod';
import { upload } from '../../hosts/client/exchanges.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, seq } from '../routes/schemas.ts';
import { execParams } from './command-schemas.ts';
import { flag } from './file-schemas.ts';
import { receiveBody } from './receive-body.ts';
import { COMMAND_ERRORS } from './sandbox-errors.ts';
import { streamOutput } from './stream-output.ts';
import { targetOf } from './target-of.ts';
import { untilGone } from '../http/until-gone.ts';

const EXEC = { scope: 'sandbox:exec', errors: [...COMMAND_ERRORS, 'STREAM_LIMIT', 'BODY_TOO_LARGE'] } as const;
const OFFSETS = /^(\d{1,15})-(\d{1,15})$/;

/** Output and input of commands. */
export function addCommandStreamRoutes(api: Api, parts: RouteParts): void {
  addOutput(api, parts);
  void api.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addInput(scope as unknown as Api, parts);
  });
}

function addOutput(api: Api, { store, hosts, streams }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/commands/:execId/output',
    {
      config: { ...EXEC, mediaType: 'text/event-stream' },
      schema: {
        summary: 'Follow the output of a command to its end',
        description:
          'A stream of server-sent events: `stdout` and `stderr` with `{"text"}`, and at last `result` as the start with `wait` answers it. The `id` of each event has the bytes of both streams ' +
          'before it and with it: a reader that was cut connects again with `Last-Event-ID` and misses nothing. Bytes that are no UTF-8 become U+FFFD; the files of the output have them.',
        tags: ['commands'],
        params: execParams,
        querystring: z.strictObject({
          stdout: seq.optional().meta({ description: 'Begin after so many bytes of stdout. `Last-Event-ID` has precedence' }),
          stderr: seq.optional().meta({ description: 'The same of stderr' }),
        }),
        headers: z.looseObject({ 'last-event-id': z.string().regex(OFFSETS, 'send the id of an event').optional() }),
        response: { 200: z.string().meta({ description: 'Server-sent events', example: 'id: 5-0\nevent: stdout\ndata: {"text":"done\\n"}\n\n' }), ...refusals },
      },
    },
    async ({ caller, held, params, query, headers }, reply) => {
      const target = await targetOf(store, caller, params.id);
      const [, stdout = query.stdout ?? 0, stderr = query.stderr ?? 0] = OFFSETS.exec(headers['last-event-id'] ?? '') ?? [];
      const from = { stdout: Number(stdout), stderr: Number(stderr) };
      const { stalledMs } = streams;
      const work = (signal: AbortSignal) => streamOutput(reply, hosts, { target, execId: params.execId, from, signal, stalledMs });
      await streams.run(caller.keyId, reply.raw, work, leastOf(held, 'streams'));
      return reply;
    },
  );
}

function addInput(api: Api, { store, hosts }: RouteParts): void {
  api.post(
    '/v1/conversations/:id/commands/:execId/stdin',
    {
      config: { ...EXEC, streamsBody: true, takesBytes: true, repeated: 'refused' },
      schema: {
        summary: 'Send input to a command',
        description: 'The body is the input, for a command that was started with `openStdin`. The answer comes when the command has room for all of it.',
        tags: ['commands'],
        params: execParams,
        querystring: z.strictObject({ end: flag.optional().meta({ description: 'The input ends with this' }) }),
        response: { 204: z.undefined(), ...refusals },
      },
    },
    async ({ caller, params: { id, execId }, query: { end = false }, raw }, reply) => {
      const target = await targetOf(store, caller, id);
      await upload(hosts, target, { do: 'commands.input', execId, end }, receiveBody(raw), untilGone(reply.raw));
      return reply.code(204).send();
    },
  );
}
