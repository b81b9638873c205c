import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { FastifyRequest } from 'fastify';
import type { CreateScheduleOptions, Schedule, ScheduleRun, Schedules, ScheduleWithRuns } from '../../client/types/schedule-types.ts';
import { failure } from '../../contracts/errors.ts';
import { mayReach, type Caller } from '../auth/caller.ts';
import { tenantFor, userFor } from '../auth/tenant-for.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, valuesOf } from './schemas.ts';

const READ = { scope: 'conversations:read' } as const;
const WRITE = { scope: 'conversations:write' } as const;
const TAGS = ['schedules'];
const params = z.object({ id: z.string().meta({ description: 'Id of a schedule', example: 'daily-report' }) });
const duration = z.union([z.string(), z.number()]);

const schedule = valuesOf<Schedule>(
  z
    .looseObject({
      id: z.string(),
      agent: z.string(),
      user: z.string(),
      tenant: z.string(),
      message: z.string(),
      keepOpen: z.boolean(),
      timing: z.looseObject({ kind: z.enum(['cron', 'every', 'at', 'other']) }),
      catchUpMs: z.number(),
      paused: z.boolean(),
      missedRuns: z.number(),
      nextAt: z.array(z.string()),
      createdAt: z.string(),
    })
    .meta({ id: 'Schedule' }),
);
const run = valuesOf<ScheduleRun>(
  z.looseObject({ at: z.string(), conversationId: z.string(), outcome: z.enum(['started', 'waiting', 'failed']) }).meta({ id: 'ScheduleRun' }),
);
const withRuns = valuesOf<ScheduleWithRuns>(z.looseObject({ id: z.string(), runs: z.array(run) }).meta({ id: 'ScheduleWithRuns' }));
const accepted = { 202: z.object({ accepted: z.literal(true) }), ...refusals };

/** Conversations that start by themselves. A caller sees the schedules of its tenant. */
export function addScheduleRoutes(api: Api, parts: RouteParts): void {
  addViews(api, parts);
  addCreate(api, parts);
  addChanges(api, parts);
}

const ownerOf = ({ tenant, user }: Schedule) => ({ tenantId: tenant, userId: user });

async function scheduleOf({ longshore }: RouteParts, caller: Caller, id: string): Promise<ScheduleWithRuns> {
  const found = await longshore.schedules.get(id);
  if (mayReach(caller, ownerOf(found))) return found;
  throw failure('SCHEDULE_NOT_FOUND', { scheduleId: id });
}

function addViews(api: Api, parts: RouteParts): void {
  api.get(
    '/v1/schedules',
    { config: READ, schema: { summary: 'List schedules', tags: TAGS, response: { 200: z.object({ schedules: z.array(schedule) }), ...refusals } } },
    async ({ caller }) => ({ schedules: (await parts.longshore.schedules.list()).filter((one) => mayReach(caller, ownerOf(one))) }),
  );
  api.get(
    '/v1/schedules/:id',
    {
      config: { ...READ, errors: ['SCHEDULE_NOT_FOUND'] },
      schema: { summary: 'Read a schedule and its last runs', tags: TAGS, params, response: { 200: withRuns, ...refusals } },
    },
    async ({ caller, params: { id } }) => scheduleOf(parts, caller, id),
  );
}

function addCreate(api: Api, { longshoreFor }: RouteParts): void {
  api.post(
    '/v1/schedules',
    {
      config: { ...WRITE, repeated: 'answer', errors: ['SCHEDULE_EXISTS', 'AGENT_NOT_FOUND', 'MESSAGE_INVALID'] },
      schema: {
        summary: 'Make a schedule: at each of its times, a conversation of its own begins',
        description: 'With one of `cron`, `every` and `at`. A schedule that has the id and the same definition is given back as it is now.',
        tags: TAGS,
        body: z.strictObject({
          id: z.string().meta({ example: 'daily-report' }),
          agent: z.string(),
          user: z.string().optional().meta({ description: 'Needed with a key; a token has its own', example: 'user-1' }),
          tenant: z.string().optional(),
          message: z.string(),
          cron: z.string().optional().meta({ example: '0 9 * * 1-5' }),
          timeZone: z.string().optional().meta({ description: 'Of `cron`, such as Europe/Berlin' }),
          every: duration.optional(),
          at: z.string().optional().meta({ description: 'Once, at this time, such as 2027-01-31T09:00:00Z' }),
          keepOpen: z.boolean().optional(),
          catchUp: duration.optional(),
          maxRuns: z.int().optional(),
        }),
        response: { 201: schedule, ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const options = withoutUndefined({ ...body, user: userFor(caller, body.user), tenant: tenantFor(caller, body.tenant) }) as CreateScheduleOptions;
      return reply.code(201).send(await longshoreFor(request).schedules.create(options));
    },
  );
}

function addChanges(api: Api, parts: RouteParts): void {
  const schedulesFor = (request: FastifyRequest) => parts.longshoreFor(request).schedules;
  const note = z.strictObject({ note: z.string().optional() });
  const change = (name: 'pause' | 'resume', summary: string, work: (schedules: Schedules, id: string, options: { note?: string }) => Promise<void>) =>
    api.post(
      `/v1/schedules/:id/${name}`,
      {
        config: { ...WRITE, repeated: 'answer', errors: ['SCHEDULE_NOT_FOUND'] },
        schema: { summary, tags: TAGS, params, body: note.optional(), response: accepted },
      },
      async (request, reply) => {
        const { id } = request.params;
        await scheduleOf(parts, request.caller, id);
        await work(schedulesFor(request), id, withoutUndefined((request.body ?? {}) as { note?: string }));
        return reply.code(202).send({ accepted: true as const });
      },
    );
  change('pause', 'Pause a schedule; runs that become due meanwhile are skipped', (schedules, id, options) => schedules.pause(id, options));
  change('resume', 'Resume a schedule from its next time', (schedules, id) => schedules.resume(id));
  api.post(
    '/v1/schedules/:id/trigger',
    {
      config: { ...WRITE, repeated: 'answer', errors: ['SCHEDULE_NOT_FOUND', 'SCHEDULE_NOT_RUN'] },
      schema: { summary: 'Run a schedule now, paused or not', tags: TAGS, params, response: { 200: run, ...refusals } },
    },
    async (request) => {
      const { caller, params } = request;
      await scheduleOf(parts, caller, params.id);
      return schedulesFor(request).trigger(params.id);
    },
  );
  api.delete(
    '/v1/schedules/:id',
    {
      config: { ...WRITE, errors: ['SCHEDULE_NOT_FOUND'] },
      schema: { summary: 'Remove a schedule; its conversations stay', tags: TAGS, params, response: accepted },
    },
    async (request, reply) => {
      const { caller, params } = request;
      await scheduleOf(parts, caller, params.id);
      await schedulesFor(request).delete(params.id);
      return reply.code(202).send({ accepted: true as const });
    },
  );
}
