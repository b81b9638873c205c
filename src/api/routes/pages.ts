import { z } from 'zod';
import { seq } from './schemas.ts';

const PAGE_LIMIT = 200;

/** What every list takes. */
export const pageQuery = {
  limit: seq.pipe(z.int().min(1).max(PAGE_LIMIT)).optional().meta({ description: 'Default 50' }),
  cursor: z.string().max(500).optional().meta({ description: 'The `next` of the page before' }),
};

/** Says nothing to its reader, so that what is in it can change. */
export function cursorOf(last: { conversationId: string } | undefined): string | undefined {
  return last && Buffer.from(last.conversationId).toString('base64url');
}

/** The id of the last conversation of the page before. */
export function readCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString();
}
