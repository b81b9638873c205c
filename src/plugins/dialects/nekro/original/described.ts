import { z } from 'zod';
import { commandsSchema } from '../../shared/python/commands.ts';

const json = z.record(z.string(), z.json());
const name = z.string().max(200);

/** What the code of a plugin says of itself. It is not trusted. */
export const describedSchema = z.object({
  name,
  moduleName: name,
  version: z.string().regex(/^[\w.+-]{1,50}$/, 'is no version'),
  description: z.string().max(20_000),
  sleepBrief: z.string().max(2_000),
  allowSleep: z.boolean(),
  tools: z
    .array(
      z.object({
        name: z.string().min(1).max(200),
        title: name,
        description: z.string().max(20_000),
        doc: z.string().max(50_000),
        kind: z.enum(['tool', 'agent', 'behavior', 'multimodal_agent']),
        parameters: json,
        /** In the order of the function. */
        names: z.array(name).max(100),
      }),
    )
    .max(200),
  commands: commandsSchema,
  webhooks: z.array(z.object({ endpoint: z.string().min(1).max(200), name, description: z.string().max(20_000) })).max(100),
  /** Functions that it mounts and that Longshore does not call. */
  others: z.array(z.object({ type: name, name })).max(500),
  configSchema: json.nullable(),
  /** It adds a text to the instructions. */
  injects: z.boolean(),
  /** It chooses the methods of a conversation. */
  collects: z.boolean(),
  /** What it imports and what does not exist. */
  absent: z.array(z.object({ name, refusal: z.string().max(500) })).max(500),
  /** It reads files of the conversation's sandbox. */
  readsFiles: z.boolean(),
  /** It uses timers. */
  setsTimers: z.boolean(),
});

export type Described = z.infer<typeof describedSchema>;
export type Method = Described['tools'][number];
