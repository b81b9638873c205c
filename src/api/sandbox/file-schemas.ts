import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import { conversationId, valuesOf } from '../routes/schemas.ts';

export const fileParams = z.object({
  id: conversationId,
  '*': z.string().meta({
    description: 'Path below /home/user; one that begins with %2F is absolute. Each segment is percent-encoded; `.` and `..` are refused',
    example: 'report/summary.md',
  }),
});

export const fileInfo = valuesOf<FileInfo>(
  z
    .looseObject({
      path: z.string(),
      type: z.enum(['file', 'directory', 'link', 'other']),
      size: z.number(),
      mode: z.int().meta({ description: 'Permission bits' }),
      modifiedAt: z.string(),
      accessedAt: z.string(),
      changedAt: z.string().meta({ description: 'When content, mode or owner last changed' }),
      linkTarget: z.string().optional(),
      encoding: z.string().optional(),
    })
    .meta({ id: 'FileInfo' }),
);

/** A switch in a query: `?list`, `?list=true`. */
export const flag = z.enum(['', 'true', 'false']).transform((text) => text !== 'false');

/** The path in the sandbox. @throws INVALID_ARGUMENT for segments that clients and proxies take out of an address, each in its own way */
export function pathOf(params: { '*': string }): string {
  const path = params['*'];
  if (!path.split('/').some((segment) => segment === '.' || segment === '..')) return path === '' ? '.' : path;
  throw failure('INVALID_ARGUMENT', { what: 'path', problem: 'it has a segment "." or ".."', fix: 'Give the path without them' });
}
