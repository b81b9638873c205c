import { z } from 'zod';
import { duration } from '../../common/duration.ts';
import { failure } from '../../contracts/errors.ts';

/** How long links of a kind work. */
interface LinkTimes {
  usual: string;
  longest: string;
}

const SHORTEST_MS = 60_000;

/** `expiresIn` of a request for a link. */
export function linkTime({ usual, longest }: LinkTimes) {
  return z
    .union([z.string(), z.number()])
    .optional()
    .meta({ description: `How long it works: 1m to ${longest}; default ${usual}`, example: usual });
}

/** In milliseconds. @throws INVALID_ARGUMENT */
export function linkTimeMs(given: string | number | undefined, { usual, longest }: LinkTimes): number {
  const parsed = duration.safeParse(given ?? usual);
  if (parsed.success && parsed.data >= SHORTEST_MS && parsed.data <= duration.parse(longest)) return parsed.data;
  throw failure('INVALID_ARGUMENT', { what: 'body.expiresIn', problem: `it is ${JSON.stringify(given)}`, fix: `Give 1m to ${longest}, such as ${usual}` });
}
