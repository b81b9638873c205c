import { z } from 'zod';
import { commandsSchema } from '../../shared/python/commands.ts';

const json = z.record(z.string(), z.json());
const component = z.object({
  name: z.string().min(1).max(200),
  description: z.string().max(20_000),
  timeoutMs: z.number().positive().max(86_400_000),
});

/** What the code of a plugin says of itself. It is not trusted. */
export const describedSchema = z.object({
  tools: z.array(component.extend({ brief: z.string().max(2_000), parameters: json })).max(200),
  commands: commandsSchema,
  /** Handlers of hooks and events of conversations. */
  hooks: z
    .array(
      z.object({
        name: z.string().min(1).max(200),
        kind: z.string().max(100),
        /** The hook or event of MaiBot. */
        of: z.string().max(200),
        /** Where in a step it is run; null: nowhere. */
        point: z.enum(['received', 'asking', 'answered', 'sending', 'sent']).nullable(),
        refusal: z.string().max(500).nullable(),
        order: z.array(z.number()).max(10),
        stopsOnFailure: z.boolean(),
      }),
    )
    .max(200),
  configSchema: json.nullable(),
  /** Parts of it that are not run. */
  others: z.array(z.object({ type: z.string().max(100), name: z.string().max(200) })).max(500),
  /** What it asks of its host, by its source. */
  capabilities: z.array(z.object({ name: z.string().max(200), refusal: z.string().max(500).nullable() })).max(500),
  /** Modules of MaiBot itself that it imports. */
  foreign: z.array(z.string().max(200)).max(100),
});

export type Described = z.infer<typeof describedSchema>;
