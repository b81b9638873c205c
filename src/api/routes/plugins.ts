import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { PermissionBound } from '../../contracts/agent.ts';
import type { Plugins, PluginState } from '../../client/types/installation-types.ts';
import { requireOperator } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, valuesOf } from './schemas.ts';

const ADMIN = { scope: 'admin' } as const;
const ONE = { ...ADMIN, errors: ['OPERATOR_REQUIRED', 'PLUGIN_NOT_FOUND'] } as const;
/** A change that a repetition makes once. */
const ACT = { ...ONE, repeated: 'answer' } as const;
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

function addViews(api: Api, { longshore: { plugins } }: RouteParts): void {
  api.get(
    '/v1/plugins',
    {
      config: { ...ADMIN, errors: ['OPERATOR_REQUIRED'] },
      schema: { summary: 'List plugins', tags: TAGS, response: { 200: z.object({ plugins: z.array(plugin) }), ...refusals } },
    },
    async ({ caller }) => {
      requireOperator(caller, 'plugins');
      return { plugins: await plugins.list() };
    },
  );
  api.get(
    '/v1/plugins/:id',
    { config: ONE, schema: { summary: 'Read a plugin', tags: TAGS, params, response: { 200: plugin, ...refusals } } },
    async (request) => {
      requireOperator(request.caller, 'plugins');
      return plugins.get(request.params.id);
    },
  );
}

function addChanges(api: Api, { longshoreFor }: RouteParts): void {
  const act = (name: string, summary: string, work: (plugins: Plugins, id: string) => Promise<void>) =>
    api.post(`/v1/plugins/:id/${name}`, { config: ACT, schema: { summary, tags: TAGS, params, response: accepted } }, async (request, reply) => {
      requireOperator(request.caller, 'plugins');
      await work(longshoreFor(request).plugins, request.params.id);
      return reply.code(202).send(ACCEPTED);
    });
  act('enable', 'Enable a plugin for all agents', (plugins, id) => plugins.enable(id, true));
  act('disable', 'Disable a plugin for all agents', (plugins, id) => plugins.enable(id, false));
  act('reload', 'Load a plugin again', (plugins, id) => plugins.reload(id));
  api.put(
    '/v1/plugins/:id/config',
    {
      config: ONE,
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
    async (request) => {
      requireOperator(request.caller, 'plugins');
      const { config, ifVersion } = request.body;
      const { id } = request.params;
      return { configVersion: await longshoreFor(request).plugins.configure(id, config, withoutUndefined({ ifVersion })) };
    },
  );
}

function addPermissions(api: Api, { longshoreFor }: RouteParts): void {
  api.post(
    '/v1/plugins/:id/grants',
    {
      config: ACT,
      schema: {
        summary: 'Grant permissions to a plugin',
        tags: TAGS,
        params,
        body: z.strictObject({ permissions: z.union([z.literal('asked'), given]).meta({ description: '`asked`: all that it asks for now' }) }),
        response: { 200: z.object({ permissions: given }), ...refusals },
      },
    },
    async (request) => {
      requireOperator(request.caller, 'plugins');
      return { permissions: await longshoreFor(request).plugins.grant(request.params.id, request.body.permissions) };
    },
  );
  api.post(
    '/v1/plugins/:id/revocations',
    {
      config: ACT,
      schema: {
        summary: 'Revoke permissions of a plugin; all of them if none is named',
        tags: TAGS,
        params,
        body: z.strictObject({ permissions: given.optional() }).optional(),
        response: { 200: z.object({ permissions: given }), ...refusals },
      },
    },
    async (request) => {
      requireOperator(request.caller, 'plugins');
      return { permissions: await longshoreFor(request).plugins.revoke(request.params.id, request.body?.permissions) };
    },
  );
}
