import { z } from 'zod';

const json = z.record(z.string(), z.json());
const component = z.object({
  name: z.string().min(1).max(200),
  description: z.string().max(20_000),
  timeoutMs: z.number().positive().max(86_400_000),
});

/** What the code of a plugin says of itself. It is not trusted. */
export const describedSchema = z.object({
  tools: z.array(component.extend({ brief: z.string().max(2_000), parameters: json })).max(200),
  /** What it does with messages that match a pattern; none matches where the pattern is null. */
  commands: z
    .array(
      component.extend({
        /** The pattern as the plugin has it, shortened. */
        given: z.string().max(200),
        /** As JSON Schema has patterns. */
        pattern: z.string().max(10_000).nullable(),
        forOperators: z.boolean(),
      }),
    )
    .max(200),
  configSchema: json.nullable(),
  /** Parts of it that are not run, with the event or hook that they are for. */
  others: z.array(z.object({ type: z.string().max(100), name: z.string().max(200), of: z.string().max(200) })).max(500),
  /** What it asks of its host, by its source. */
  capabilities: z.array(z.object({ name: z.string().max(200), refusal: z.string().max(500).nullable() })).max(500),
  /** Modules of MaiBot itself that it imports. */
  foreign: z.array(z.string().max(200)).max(100),
});

export type Described = z.infer<typeof describedSchema>;
