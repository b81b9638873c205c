import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { PermissionBound } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { PluginState } from '../../client/types.ts';
import type { Caller } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, valuesOf } from './schemas.ts';

const ADMIN = { scope: 'admin' } as const;
const TAGS = ['plugins'];
const params = z.object({ id: z.string().meta({ description: 'Id of a plugin, or the name that agents give it' }) });
const plugin = valuesOf<PluginState>(
  z
    .looseObject({ id: z.string(), enabled: z.boolean(), config: z.looseObject({}), configVersion: z.int(), reports: z.array(z.looseObject({})) })
    .meta({ id: 'Plugin' }),
);
const bound = z.strictObject({
  time: z.boolean().optional(),
  random: z.boolean().optional(),
  network: z.array(z.string()).optional(),
  env: z.array(z.string()).optional(),
  fs: z.array(z.string()).optional(),
});
const given = valuesOf<PermissionBound>(bound);
const accepted = { 202: z.object({ accepted: z.literal(true) }), ...refusals };
const ACCEPTED = { accepted: true } as const;

/** Plugins are of the whole installation, so only operators reach them: keys without a tenant. */
export function addPluginRoutes(api: Api, parts: RouteParts): void {
  addViews(api, parts);
  addChanges(api, parts);
  addPermissions(api, parts);
}

/** @throws OPERATOR_REQUIRED for the key of a tenant */
function requireOperator({ tenantId }: Caller): void {
  if (tenantId !== undefined) throw failure('OPERATOR_REQUIRED', { what: 'plugins' });
}

function addViews(api: Api, { longshore: { plugins } }: RouteParts): void {
  api.get(
    '/v1/plugins',
    { config: ADMIN, schema: { summary: 'List plugins', tags: TAGS, response: { 200: z.object({ plugins: z.array(plugin) }), ...refusals } } },
    async ({ caller }) => {
      requireOperator(caller);
      return { plugins: await plugins.list() };
    },
  );
  api.get(
    '/v1/plugins/:id',
    { config: ADMIN, schema: { summary: 'Read a plugin', tags: TAGS, params, response: { 200: plugin, ...refusals } } },
    async (request) => {
      requireOperator(request.caller);
      return plugins.get(request.params.id);
    },
  );
}

function addChanges(api: Api, { longshore: { plugins } }: RouteParts): void {
  const act = (name: string, summary: string, work: (id: string) => Promise<void>) =>
    api.post(`/v1/plugins/:id/${name}`, { config: ADMIN, schema: { summary, tags: TAGS, params, response: accepted } }, async (request, reply) => {
      requireOperator(request.caller);
      await work(request.params.id);
      return reply.code(202).send(ACCEPTED);
    });
  act('enable', 'Enable a plugin for all agents', (id) => plugins.enable(id, true));
  act('disable', 'Disable a plugin for all agents', (id) => plugins.enable(id, false));
  act('reload', 'Load a plugin again', (id) => plugins.reload(id));
  api.put(
    '/v1/plugins/:id/config',
    {
      config: ADMIN,
      schema: {
        summary: 'Replace the configuration of a plugin',
        tags: TAGS,
        params,
        body: z.strictObject({
          config: z.record(z.string(), z.json()),
          ifVersion: z.int().optional().meta({ description: 'Only if that is the current version' }),
        }),
        response: { 200: z.object({ configVersion: z.int() }), ...refusals },
      },
    },
    async ({ caller, params: { id }, body: { config, ifVersion } }) => {
      requireOperator(caller);
      return { configVersion: await plugins.configure(id, config, withoutUndefined({ ifVersion })) };
    },
  );
}

function addPermissions(api: Api, { longshore: { plugins } }: RouteParts): void {
  api.post(
    '/v1/plugins/:id/grants',
    {
      config: ADMIN,
      schema: {
        summary: 'Grant permissions to a plugin',
        tags: TAGS,
        params,
        body: z.strictObject({ permissions: z.union([z.literal('asked'), given]).meta({ description: '`asked`: all that it asks for now' }) }),
        response: { 200: z.object({ permissions: given }), ...refusals },
      },
    },
    async ({ caller, params: { id }, body: { permissions } }) => {
      requireOperator(caller);
      return { permissions: await plugins.grant(id, permissions) };
    },
  );
  api.post(
    '/v1/plugins/:id/revocations',
    {
      config: ADMIN,
      schema: {
        summary: 'Revoke permissions of a plugin; all of them if none is named',
        tags: TAGS,
        params,
        body: z.strictObject({ permissions: given.optional() }).optional(),
        response: { 200: z.object({ permissions: given }), ...refusals },
      },
    },
    async ({ caller, params: { id }, body }) => {
      requireOperator(caller);
      return { permissions: await plugins.revoke(id, body?.permissions) };
    },
  );
}
