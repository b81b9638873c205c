import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import { createPayloadCodec } from '../../client/temporal/payload-codec.ts';
import { failure } from '../../contracts/errors.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';
import { allowOrigin } from './allow-origin.ts';

/** A payload of Temporal has 2 MB at most, and base64 makes a third more of it. */
const BODY_BYTES = 8_000_000;
const MOST_PAYLOADS = 10_000;
const bytes = z.string().meta({ description: 'base64', example: 'ImFob3ki' });
const payload = z.looseObject({ metadata: z.record(z.string(), bytes).optional(), data: bytes.optional() }).meta({ id: 'Payload' });
/** JSON of protobuf leaves out an empty list: the command line of Temporal sends `{}` for a query or a signal without input. */
const body = z.looseObject({
  payloads: z
    .array(payload)
    .max(MOST_PAYLOADS)
    .optional()
    .meta({ example: [{ data: 'ImFob3ki' }] }),
});
type JsonPayload = z.infer<typeof payload>;

/** What Temporal's UI asks of a codec endpoint. The UI shows workflows of all tenants, so only operators' keys reach this. */
export function addCodecRoutes(api: Api, { client, codecOrigins }: RouteParts): void {
  const codec = createPayloadCodec(client.temporal.keys);
  const onSend = allowOrigin(codecOrigins);
  const add = (name: 'decode' | 'encode', summary: string, description: string) => {
    api.post(
      `/codec/${name}`,
      {
        config: { scope: 'codec:decode', repeated: 'harmless', errors: ['OPERATOR_REQUIRED'] },
        bodyLimit: BODY_BYTES,
        onSend,
        schema: { summary, description, tags: ['codec'], body, response: { 200: z.object({ payloads: z.array(payload) }), ...refusals } },
      },
      async (request) => {
        if (request.caller.tenantId !== undefined) throw failure('OPERATOR_REQUIRED', { what: 'payloads of Temporal' });
        return { payloads: (await codec[name]((request.body.payloads ?? []).map(fromJson))).map(toJson) };
      },
    );
    api.options(`/codec/${name}`, { config: { scope: 'none' }, onSend, schema: { hide: true } }, async (_request, reply) => reply.code(204).send());
  };
  add('decode', 'Decrypt payloads of Temporal', "For Temporal's UI and its command line. Payloads that are not encrypted come back unchanged.");
  add('encode', 'Encrypt payloads for Temporal', "For what is sent from Temporal's UI. Without keys, payloads come back unchanged.");
}

function fromJson({ metadata = {}, data }: JsonPayload): Payload {
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')])),
    ...(data !== undefined && { data: Buffer.from(data, 'base64') }),
  };
}

function toJson({ metadata, data }: Payload): JsonPayload {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return { metadata: Object.fromEntries(fields) as Record<string, string>, ...(data && { data: Buffer.from(data).toString('base64') }) };
}
