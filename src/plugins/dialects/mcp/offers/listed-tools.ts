import { z } from 'zod';
import { OFFERS, type Offer } from './offered-tools.ts';

/** Most pages of a server's list that are requested. */
export const MAX_PAGES = 50;
/** Marks the end of a list of which more pages exist. */
export const MORE_PAGES = { morePages: true };

export interface ListedTools {
  /** The server's own version. */
  version: string;
  /** As the server sends them; not checked yet. */
  tools: unknown[];
  /** What it offers in addition to tools; absent when that is nothing. */
  offers?: Offer[];
  /** What it says about itself, for models. */
  instructions?: string;
  /** Tools that cannot be called over its connection were left out: why. */
  problems?: string[];
  /** It speaks the revision 2026-07-28, and ends a request to ask for input. */
  inRounds?: true;
}

/** What counts of what a server has said about itself, by the names of its capabilities. */
export function aboutServer({ offers, instructions }: { offers: string[]; instructions?: string | undefined }): Pick<ListedTools, 'offers' | 'instructions'> {
  const known = OFFERS.filter((offer) => offers.includes(offer));
  return { ...(known.length > 0 && { offers: known }), ...(instructions && { instructions }) };
}

/** The same as it is stored. */
export const LISTED_TOOLS: z.ZodType<ListedTools> = z.object({
  version: z.string(),
  tools: z.array(z.unknown()),
  offers: z.array(z.enum(OFFERS)).exactOptional(),
  instructions: z.string().exactOptional(),
  problems: z.array(z.string()).exactOptional(),
  inRounds: z.literal(true).exactOptional(),
});
