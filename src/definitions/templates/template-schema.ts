import { z } from 'zod';
import { sandboxShape } from '../parse/sandbox-schema.ts';
import { IMAGE } from '../parse/sandbox-ranges.ts';
import type { Json } from '../../contracts/json.ts';

const USER_NAME = /^[a-z_][a-z0-9_-]{0,30}$/;
const PACKAGE = /^[a-z0-9][a-z0-9.+-]+(=[A-Za-z0-9.+~:-]+)?$/;
const LABEL = /^[a-z0-9][a-z0-9._-]{0,62}$/;

const userName = z
  .string()
  .regex(USER_NAME, 'has to be a user name: a-z, 0-9, _ and -')
  .refine((name) => name !== 'root' && name !== 'user', 'exists already');
const command = z.string().min(1);

/** A template as it is written, in YAML or with `defineTemplate`. */
export const templateSchema = sandboxShape
  .omit({ template: true, onClose: true, sandboxId: true, assets: true, persist: true, backup: true })
  .extend({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'has to be lower-case letters, digits and -, 41 at most')
      .describe('Name of the template.'),
    image: z
      .string()
      .regex(IMAGE, 'has to be the name of an image, such as name:tag')
      .optional()
      .describe('Docker image that contains the supervisor. Default: the standard image.'),
    dockerfile: z
      .string()
      .min(1)
      .optional()
      .describe('Instead of image: a Dockerfile (relative to this file) that begins with ARG BASE and FROM ${BASE}. Its directory is the context.'),
    packages: z.array(z.string().regex(PACKAGE, 'has to be the name of a Debian package')).default([]).describe('Debian packages that are installed.'),
    users: z
      .array(z.union([userName.transform((name) => ({ name })), z.strictObject({ name: userName, uid: z.int().min(1001).max(59_999).optional() })]))
      .default([])
      .describe('Users beside `user` that commands may run as; each has a home of its own, /home/<name>.'),
    workDirectory: z
      .string()
      .regex(/^\/home\/user(\/[^/\0\n]+)*$/, 'has to be /home/user or a directory below it')
      .optional()
      .describe('Where commands begin. Made if need be. Default /home/user.'),
    setup: z
      .array(
        z.union([
          command.transform((run) => ({ run, user: 'user' })),
          z.strictObject({ run: command, user: z.string().regex(USER_NAME, 'has to be a user name').default('user') }),
        ]),
      )
      .default([])
      .describe('Bash commands run once, when the image is built: as `user`, or as { run, user } says: root, or one of users.'),
    pool: z.int().min(0).max(100).default(0).describe('How many sandboxes are kept ready on each host. Default 0.'),
    labels: z
      .record(z.string().regex(LABEL, 'has to be a label: a-z, 0-9, ., _ and -'), z.string().max(200))
      .optional()
      .describe('On the containers, as longshore.label.<name>.'),
    metadata: z.record(z.string(), z.json()).optional().describe('Kept with each sandbox.'),
  })
  .refine(({ image, dockerfile }) => image === undefined || dockerfile === undefined, {
    path: ['dockerfile'],
    message: 'image and dockerfile exclude each other; the image belongs into the FROM of the Dockerfile',
  });

/** The keys of a template; durations are texts such as `30s` or milliseconds. */
export type TemplateDefinition = z.input<typeof templateSchema>;

/** The JSON Schema that editors use for template files. */
export function templateJsonSchema(): Record<string, Json> {
  const schema = z.toJSONSchema(templateSchema, { io: 'input', target: 'draft-7' }) as Record<string, Json>;
  // The file's name is the template's name when the name is missing.
  return { ...schema, title: 'Longshore template', required: [] };
}
