import type { z } from 'zod';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { sandboxSchema } from './agent-schema.ts';

type Parsed = z.output<typeof sandboxSchema>;

/** The options that somebody has written; defaults come later, so that what a template says holds where an agent says nothing. */
export function sandboxOptions({ idle, ...rest }: Pick<Parsed, 'idle'> & Partial<Parsed>): SandboxOptions {
  return withoutUndefined({ ...rest, freezeAfterMs: idle.freeze, hibernateAfterMs: idle.hibernate, stopAfterMs: idle.stop, archiveAfterMs: idle.archive });
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The fields that say something. */
export function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}
