import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { MemoryContent, MemoryFile, MemoryVersion } from '../../contracts/memory/memory.ts';
import { failure } from '../../contracts/errors.ts';
import type { MemoryOf } from '../../client/memory/memory-types.ts';
import { hasTenant, type Caller } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, seq, valuesOf } from './schemas.ts';

const writer = z.looseObject({ kind: z.string(), id: z.string(), callId: z.string().optional().meta({ description: 'Of a conversation' }) }).meta({
  description: 'Who: `conversation`, `key`, `oidc`, `login`; `erased` for a user who was erased',
  example: { kind: 'conversation', id: 'conv_01kq0p0g7fm3c8w2y5t9x1' },
});
const path = z.string().meta({ description: 'Names of letters, digits, `_`, `-` and `.`, with `/` between', example: 'notes/style.md' });
const facts = {
  path,
  version: z.int().meta({ description: 'No other version in this memory has it; newer ones have larger numbers' }),
  bytes: z.int(),
  at: z.string().meta({ description: 'ISO 8601, UTC' }),
  by: writer,
};
const version = valuesOf<MemoryVersion>(
  z.looseObject({ ...facts, removed: z.literal(true).optional().meta({ description: 'The file was removed with it' }) }).meta({ id: 'MemoryVersion' }),
);
const file = valuesOf<MemoryFile>(z.looseObject({ ...facts, firstLine: z.string() }).meta({ id: 'MemoryFile' }));
const content = valuesOf<MemoryContent>(z.looseObject({ ...facts, content: z.string() }).meta({ id: 'MemoryContent' }));

const of = {
  tenant: z.string().optional().meta({ description: "With an operator's key. Default: `default`" }),
  user: z.string().optional().meta({ description: 'The memory of this user; a token that speaks for a user has that one' }),
  agent: z.string().optional().meta({ description: 'The memory of this agent in the tenant. With neither, that of the tenant' }),
};
const params = z.object({ '*': path.meta({ description: 'Names of letters, digits, `_`, `-` and `.`, with `/` between', example: 'notes/style.md' }) });
const READ = { scope: 'memory:read', errors: ['MEMORY_FILE_NOT_FOUND'] } as const;
const TAGS = ['memory'];
const PATH = '/v1/memory/files/*';

/** Files that agents keep between conversations. */
export function addMemoryRoutes(api: Api, { longshore, longshoreFor }: RouteParts): void {
  api.get(
    '/v1/memory',
    {
      config: { scope: 'memory:read' },
      schema: {
        summary: 'List the files of a memory',
        tags: TAGS,
        querystring: z.strictObject(of),
        response: { 200: z.object({ files: z.array(file) }), ...refusals },
      },
    },
    async ({ caller, query }) => {
      const own = ownOf(caller, query);
      return { files: 'refused' in own ? [] : await longshore.memory.list(own.of) };
    },
  );
  api.get(
    PATH,
    {
      config: READ,
      schema: {
        summary: 'Read a file of a memory',
        tags: TAGS,
        params,
        querystring: z.strictObject({ ...of, version: seq.optional().meta({ description: 'An older version. Default: the current one' }) }),
        response: { 200: content, ...refusals },
      },
    },
    async ({ caller, params: { '*': named }, query: { version: number, ...given } }) =>
      longshore.memory.read(named, withoutUndefined({ ...readable(caller, given, named), version: number })),
  );
  api.get(
    '/v1/memory/history/*',
    {
      config: READ,
      schema: {
        summary: 'List the versions of a file that are kept, the newest first',
        tags: TAGS,
        params,
        querystring: z.strictObject(of),
        response: { 200: z.object({ versions: z.array(version) }), ...refusals },
      },
    },
    async ({ caller, params: { '*': named }, query }) => ({ versions: await longshore.memory.history(named, readable(caller, query, named)) }),
  );
  addChanges(api, { longshoreFor });
}

function addChanges(api: Api, { longshoreFor }: Pick<RouteParts, 'longshoreFor'>): void {
  api.put(
    PATH,
    {
      config: { scope: 'memory:write', errors: ['MEMORY_CONFLICT', 'MEMORY_FULL'] },
      schema: {
        summary: 'Write a file of a memory, as a new version',
        description: 'Takes the version that was read, and is refused when the file has another one by now.',
        tags: TAGS,
        params,
        body: z.strictObject({
          ...of,
          content: z.string().meta({ description: 'Up to 65 536 bytes of UTF-8', example: 'Answers in plain English.' }),
          version: z.int().min(0).optional().meta({ description: 'The version that was read. Default 0: there is no such file yet' }),
        }),
        response: { 200: version, ...refusals },
      },
    },
    async (request) => {
      const { content: text, version: number, ...given } = request.body;
      return longshoreFor(request).memory.write(request.params['*'], text, withoutUndefined({ ...changeable(request.caller, given), version: number }));
    },
  );
  api.delete(
    PATH,
    {
      config: { scope: 'memory:write', errors: ['MEMORY_CONFLICT', 'MEMORY_FILE_NOT_FOUND'] },
      schema: {
        summary: 'Remove a file of a memory',
        description: 'Its versions are kept as those of other files.',
        tags: TAGS,
        params,
        querystring: z.strictObject({
          ...of,
          version: seq.optional().meta({ description: 'Only if it still has this version, which was read' }),
        }),
        response: { 200: version, ...refusals },
      },
    },
    async (request) => {
      const { version: number, ...given } = request.query;
      const own = readable(request.caller, given, request.params['*']);
      return longshoreFor(request).memory.delete(request.params['*'], withoutUndefined({ ...own, version: number }));
    },
  );
}

type Given = { [Name in keyof MemoryOf]: MemoryOf[Name] | undefined };
type Own = { of: MemoryOf } | { refused: 'tenant' | 'user' | 'agent' };

/** Whose memory a request is about. Somebody who speaks for a user has that of the user, and no other. */
function ownOf(caller: Caller, { tenant, user, agent }: Given): Own {
  if (tenant !== undefined && !hasTenant(caller, tenant)) return { refused: 'tenant' };
  const { tenantId = tenant, userId } = caller;
  if (userId === undefined) return { of: withoutUndefined({ tenant: tenantId, user, agent }) };
  if (user !== undefined && user !== userId) return { refused: 'user' };
  return agent === undefined ? { of: withoutUndefined({ tenant: tenantId, user: userId }) } : { refused: 'agent' };
}

/** Files in a memory that the caller does not have do not exist. */
function readable(caller: Caller, given: Given, named: string): MemoryOf {
  const own = ownOf(caller, given);
  if ('of' in own) return own.of;
  throw failure('MEMORY_FILE_NOT_FOUND', { what: `file "${named}"` });
}

function changeable(caller: Caller, given: Given): MemoryOf {
  const own = ownOf(caller, given);
  if ('of' in own) return own.of;
  throw failure('INVALID_ARGUMENT', { what: `body.${own.refused}`, problem: WHOSE[own.refused], fix: 'Leave it out' });
}

const WHOSE = {
  tenant: 'it is not the tenant of this key',
  user: 'it is not the user of this token',
  agent: 'a token that speaks for a user has the memory of that user alone',
};
