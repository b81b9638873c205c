import type { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { sandboxSchema } from './sandbox-schema.ts';

type Parsed = z.output<typeof sandboxSchema>;

/** The options that were written. Defaults are added later, so that a template applies where an agent sets nothing. */
export function sandboxOptions({ idle, backup, ...rest }: Pick<Parsed, 'idle'> & Partial<Parsed>): SandboxOptions {
  return withoutUndefined({
    ...rest,
    backup: backup === 'off' ? undefined : backup,
    freezeAfterMs: idle.freeze,
    hibernateAfterMs: idle.hibernate,
    stopAfterMs: idle.stop,
    archiveAfterMs: idle.archive,
  });
}
