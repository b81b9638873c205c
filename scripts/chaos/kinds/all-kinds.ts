import { BELOW_FEATURES, FEATURES } from './features.ts';
import { BELOW, HOSTED, KINDS, PULSE, QUICK, STORED, type Kinds } from './kinds.ts';
import { SWELLING, WAITING } from './memory.ts';

/** Those that are begun by others. */
export const ALL_BELOW: Kinds = { ...BELOW, ...BELOW_FEATURES };
export const ALL_KINDS: Kinds = { ...KINDS, ...FEATURES, ...ALL_BELOW, ...PULSE, ...QUICK, ...HOSTED, ...STORED, ...SWELLING, ...WAITING };
