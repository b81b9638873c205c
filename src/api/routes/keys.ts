import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { SCOPES, type ApiKey } from '../../contracts/api-key.ts';
import { failure } from '../../contracts/errors.ts';
import { sourceOf } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant-for.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from './schemas.ts';

const ADMIN = { scope: 'admin' } as const;
const key = z
  .object({
    keyId: z.string(),
    tenantId: z.string().exactOptional().meta({ description: "Absent: an operator's key, which sees all tenants" }),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: z.string(),
    expiresAt: z.string().exactOptional(),
    revokedAt: z.string().exactOptional(),
    lastUsedAt: z.string().exactOptional(),
  })
  .meta({ id: 'Key' }) satisfies z.ZodType<ApiKey>;

/** Keys of the API. A key of a tenant manages those of its tenant only, and makes none that may do more. */
export function addKeyRoutes(api: Api, parts: RouteParts): void {
  addKeys(api, parts);
  addRotation(api, parts);
}

function addKeys(api: Api, { longshore, longshoreFor, store }: RouteParts): void {
  api.post(
    '/v1/keys',
    {
      config: { ...ADMIN, repeated: 'once' },
      schema: {
        summary: 'Make a key',
        tags: ['keys'],
        body: z.strictObject({
          name: z.string().meta({ description: 'For whom or what it is', example: 'billing' }),
          scopes: z.array(z.enum(SCOPES)).min(1),
          tenant: z.string().optional().meta({ description: 'The only tenant that it sees' }),
          expiresIn: z.union([z.string(), z.number()]).optional().meta({ description: 'Milliseconds, or a text such as 90d', example: '90d' }),
        }),
        response: { 201: key.extend({ text: z.string().meta({ description: 'What callers send; shown only now' }) }), ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      return reply.code(201).send(await longshoreFor(request).keys.create(withoutUndefined({ ...body, tenant: tenantFor(caller, body.tenant) })));
    },
  );
  api.get(
    '/v1/keys',
    { config: ADMIN, schema: { summary: 'List the keys', tags: ['keys'], response: { 200: z.object({ keys: z.array(key) }), ...refusals } } },
    async ({ caller }) => ({ keys: await longshore.keys.list(caller.tenantId) }),
  );
  api.delete(
    '/v1/keys/:keyId',
    {
      config: { ...ADMIN, errors: ['KEY_NOT_FOUND'] },
      schema: { summary: 'End a key at once', tags: ['keys'], params: z.object({ keyId: z.string() }), response: { 200: key, ...refusals } },
    },
    async (request) => {
      const { keyId } = request.params;
      const revoked = await store.apiKeys.revoke(keyId, sourceOf(request), request.caller.tenantId);
      if (!revoked) throw failure('KEY_NOT_FOUND', { keyId });
      return revoked;
    },
  );
}

function addRotation(api: Api, { longshoreFor }: RouteParts): void {
  api.post(
    '/v1/keys/:keyId/rotate',
    {
      config: { ...ADMIN, repeated: 'once', errors: ['KEY_NOT_FOUND'] },
      schema: {
        summary: 'Make a key that replaces another, which ends after an overlap',
        description: 'The new key has the name, scopes and tenant of the old one, and is made for as long as the old one was.',
        tags: ['keys'],
        params: z.object({ keyId: z.string() }),
        body: z
          .strictObject({
            overlap: z.union([z.string(), z.number()]).optional().meta({ description: 'How long the old key still works; default 24h', example: '24h' }),
            tenant: z.string().optional().meta({ description: 'Only a key of this tenant' }),
          })
          .optional(),
        response: { 201: key.extend({ text: z.string().meta({ description: 'What callers send; shown only now' }), oldEndsAt: z.string() }), ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, body = {}, params } = request;
      const tenant = tenantFor(caller, body.tenant);
      return reply.code(201).send(await longshoreFor(request).keys.rotate(params.keyId, withoutUndefined({ ...body, tenant })));
    },
  );
}
