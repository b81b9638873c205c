import type { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { sandboxSchema } from './sandbox-schema.ts';

type Parsed = z.output<typeof sandboxSchema>;

/** The options that somebody has written; defaults come later, so that what a template says holds where an agent says nothing. */
export function sandboxOptions({ idle, ...rest }: Pick<Parsed, 'idle'> & Partial<Parsed>): SandboxOptions {
  return withoutUndefined({ ...rest, freezeAfterMs: idle.freeze, hibernateAfterMs: idle.hibernate, stopAfterMs: idle.stop, archiveAfterMs: idle.archive });
}
