import { z } from 'zod';
import { duration } from '../../common/duration.ts';
import { egressSchema } from './egress-schema.ts';
import { HOST_LABEL, IMAGE, RANGES } from './sandbox-ranges.ts';

const SHORTEST_BACKUP_MS = 10_000;
const MOST_HOST_LABELS = 20;
const BACKUP_PROBLEM = `has to be turn, off or a duration of at least ${SHORTEST_BACKUP_MS / 1000}s`;

/** The keys of a sandbox, without the rules between them. Templates have the same keys, except those that say how one agent uses its sandbox. */
export const sandboxShape = z.strictObject({
  template: z.string().min(1).optional().describe('Name of a template; its keys hold where this agent says nothing.'),
  image: z.string().regex(IMAGE, 'has to be the name of an image, such as name:tag').optional().describe('Docker image. Default: the standard image.'),
  memoryMb: z.int().min(RANGES.memoryMb.min).max(RANGES.memoryMb.max).optional().describe('Memory limit in MB.'),
  cpus: z.number().min(RANGES.cpus.min).max(RANGES.cpus.max).optional().describe('CPU limit; 0.5 is half a core.'),
  pids: z.int().min(RANGES.pids.min).max(RANGES.pids.max).optional().describe('Most processes at once.'),
  diskMb: z
    .int()
    .min(RANGES.diskMb.min)
    .max(RANGES.diskMb.max)
    .optional()
    .describe('What its files may take up, in MB; commands that write more are ended. 0 no limit. Default 10240.'),
  readOnlyRoot: z.boolean().optional().describe('Whether only /home, /tmp and /run can be written. Default true.'),
  runtime: z
    .enum(['runc', 'runsc', 'auto'])
    .optional()
    .describe('runsc is gVisor, which can hibernate; auto takes it where the host can. Default auto for a sandbox that hibernates, else runc.'),
  hostLabels: z
    .array(z.string().regex(HOST_LABEL, 'has to be a label of a host, such as gpu or zone=a'))
    .max(MOST_HOST_LABELS, `has more than ${MOST_HOST_LABELS} labels`)
    .optional()
    .describe('Labels that a host has to have (LONGSHORE_HOST_LABELS), all of them; no other host makes the sandbox or brings it back. Default none.'),
  idle: z
    .strictObject({
      freeze: duration.optional().describe('Time without work until the sandbox is frozen (memory stays). 0 never. Default 30s.'),
      hibernate: duration
        .optional()
        .describe(
          'Time without work until the sandbox is hibernated (processes and memory rest on disk). 0, the default, never. Where the host cannot, it is stopped.',
        ),
      stop: duration.optional().describe('Time without work until the sandbox is stopped (files stay, processes end). 0, the default, never.'),
      archive: duration
        .optional()
        .describe('Time without work until the sandbox is packed into the blob store and leaves its host; any use brings it back. 0, the default, never.'),
    })
    .prefault({}),
  backup: z
    .union([z.enum(['turn', 'off']), duration.refine((ms) => ms >= SHORTEST_BACKUP_MS, BACKUP_PROBLEM)], { error: BACKUP_PROBLEM })
    .optional()
    .describe(
      'When the files are backed up to the blob store, so that they outlive the host: turn, at the end of each turn that has called tools; a duration, also after so much time of use. Default off.',
    ),
  egress: egressSchema
    .optional()
    .describe('Hosts that the sandbox may reach over HTTP and HTTPS: names, or { host, ports, headers, cleartext, raw }. Default none.'),
  secrets: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'), z.string())
    .optional()
    .describe('Variables of every command, masked in its output. Write values as ${env.NAME}: they are read when they are needed, and kept nowhere.'),
  onClose: z.enum(['destroy', 'keep']).default('destroy').describe('What a closed conversation does with its sandbox. One named by sandboxId is always kept.'),
  persist: z.boolean().optional().describe('false: the sandbox is destroyed at the end of every turn. Default true.'),
  sandboxId: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'is no id of a sandbox')
    .optional()
    .describe('An existing sandbox of the same tenant. An unknown id is an error.'),
  assets: z
    .array(
      z.strictObject({
        from: z.string().min(1).describe('File or directory, relative to this file, on every worker.'),
        to: z.string().min(1).describe('Where in the sandbox, such as /home/user/data.'),
      }),
    )
    .optional()
    .describe('Uploaded when the sandbox is made, and again when it had to be rebuilt without its files.'),
  keepalive: z
    .union([z.literal(true), duration])
    .optional()
    .describe('Time after work in which the sandbox keeps its tier; its idle times begin after it. true: it does not rest by itself.'),
});

export const sandboxSchema = sandboxShape
  .refine(({ persist, sandboxId }) => persist !== false || sandboxId === undefined, {
    path: ['persist'],
    message: 'false would destroy the sandbox that sandboxId names. Leave one of them out',
  })
  .refine(({ persist, backup = 'off' }) => persist !== false || backup === 'off', {
    path: ['backup'],
    message: 'has nothing to keep where persist is false. Leave one of them out',
  })
  .prefault({});
