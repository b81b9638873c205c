import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { intersects, validRange } from 'semver';
import { z } from 'zod';
import { failure } from '../../../contracts/errors.ts';
import { PLUGIN_ID, PLUGIN_ID_IN_WORDS } from '../../api/define-plugin.ts';
import { VARIABLE } from '../../api/plugin-details.ts';
import { parseForeign } from '../../../contracts/foreign-json.ts';
import { readPluginFile } from '../../files/read-plugin-file.ts';

const MANIFEST_FILE = 'pandora.manifest.json';

/** The versions of Pandora whose plugin interface is supported. Manifests name in `pandora` the versions that they need. */
const SPOKEN = '>=0.0.1 <2.0.0';
const LONGEST_RANGE = 256;

const text = z.string().min(1);
const HOST = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i;

const permissions = z.strictObject({
  time: z.boolean().optional(),
  network: z.array(z.string().regex(HOST, 'has to be an exact host name')).optional(),
  env: z.array(z.string().regex(VARIABLE, 'has to be the name of a variable')).optional(),
  fs: z.array(z.string().startsWith('/', 'has to be an absolute path')).optional(),
  random: z.boolean().optional(),
});

const entry = z.strictObject({
  entry: text.refine((path) => !path.startsWith('/') && !path.split(/[/\\]/).includes('..'), 'has to be a path within the plugin'),
  sandbox: z.enum(['compartment', 'host']).default('compartment'),
  permissions: permissions.default({}),
  requireApproval: z.boolean().optional(),
});

const entries = z.union([entry.transform((one) => [one]), z.array(entry)]);

const agentEntry = z.strictObject({ entry: text, useTools: z.json().optional(), modelTools: z.json().optional() });

/** Keys of a configuration besides the fields of the manifest. */
const RESERVED = ['enabled', 'requireApproval'];

const configField = z
  .strictObject({
    key: text.regex(/^[A-Za-z_][\w.-]*$/, 'has to be a name').refine((key) => !RESERVED.includes(key), `none may be called ${RESERVED.join(' or ')}`),
    label: text,
    type: z.enum(['text', 'number', 'password', 'enum']),
    required: z.boolean().default(false),
    placeholder: z.string().optional(),
    description: z.string().optional(),
    options: z.array(z.strictObject({ value: z.string(), label: z.string() })).optional(),
  })
  .refine(({ type, options }) => type !== 'enum' || (options?.length ?? 0) > 0, { path: ['options'], message: 'an enum needs options' });

const manifest = z.strictObject({
  $schema: z.string().optional(),
  manifestVersion: z.literal(1),
  id: text.regex(PLUGIN_ID, `is not usable; ${PLUGIN_ID_IN_WORDS}`),
  name: text,
  description: z.string().optional(),
  author: z.union([z.string(), z.strictObject({ name: z.string(), email: z.string().optional(), url: z.string().optional() })]).optional(),
  icon: z.string().optional(),
  version: z.string().optional(),
  homepage: z.string().optional(),
  repository: z.string().optional(),
  license: z.string().optional(),
  pandora: z
    .string()
    .regex(/^[><=~^]/, 'has to start with one of > < = ~ ^')
    // The check of a long list of comparators takes time quadratic in its length.
    .refine((range) => range.length <= LONGEST_RANGE && validRange(range) !== null, `has to be a range of versions, of at most ${LONGEST_RANGE} characters`),
  provides: z.strictObject({
    tools: entries.optional(),
    channels: entries.optional(),
    agents: z.union([agentEntry, z.array(agentEntry)]).optional(),
  }),
  envVars: z.array(z.strictObject({ name: z.string().regex(VARIABLE, 'has to be the name of a variable'), required: z.boolean().default(true) })).default([]),
  configFields: z
    .array(configField)
    .superRefine((fields, context) => {
      const seen = new Set<string>();
      for (const [index, { key }] of fields.entries()) {
        if (seen.size === seen.add(key).size) context.addIssue({ code: 'custom', path: [index, 'key'], message: `${JSON.stringify(key)} occurs twice` });
      }
    })
    .default([]),
});

export type Manifest = z.output<typeof manifest>;
export type ToolEntry = z.output<typeof entry>;
export type ConfigField = z.output<typeof configField>;

/** The manifest in the directory of a plugin. */
export async function locateManifest(root: string): Promise<string | undefined> {
  const path = join(root, MANIFEST_FILE);
  return stat(path).then(
    (found) => (found.isFile() ? path : undefined),
    () => undefined,
  );
}

/**
 * Reads and checks the manifest of a plugin.
 * @param name the name that the agent uses, for messages.
 * @throws PLUGIN_INVALID naming each field that is wrong, or the versions that do not fit.
 */
export async function readManifest(name: string, root: string): Promise<Manifest> {
  const path = join(root, MANIFEST_FILE);
  const invalid = (problem: string, fix: string, cause?: unknown): Error => failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
  const written = await readPluginFile(root, MANIFEST_FILE).catch((error: unknown) => {
    throw invalid(`${path} cannot be read (${(error as Error).message})`, 'Check the permissions of the file', error);
  });
  let given: unknown;
  try {
    given = parseForeign(written);
  } catch (error) {
    throw invalid(`${path} cannot be read as JSON (${(error as Error).message})`, 'Correct that file', error);
  }
  const parsed = manifest.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.slice(0, MOST_PROBLEMS).flatMap(problemsOf);
    const left = parsed.error.issues.length - MOST_PROBLEMS;
    throw invalid(`${MANIFEST_FILE}: ${problems.join('; ')}${left > 0 ? `; and ${left} more` : ''}`, 'See docs/guides/plugins.md for the fields of a manifest');
  }
  const { pandora } = parsed.data;
  if (intersects(pandora, SPOKEN, { includePrerelease: true })) return parsed.data;
  throw invalid(`it needs Pandora ${pandora}, but this host supports ${SPOKEN}`, 'Use a version of the plugin that works with it');
}

const MOST_PROBLEMS = 10;

function problemsOf(issue: z.core.$ZodIssue): string[] {
  const at = `/${issue.path.join('/')}`;
  if (issue.code === 'unrecognized_keys') return issue.keys.slice(0, MOST_PROBLEMS).map((key) => `${at === '/' ? '' : at}/${key}: not known`);
  // An entry may have one of two forms. Reports the problems of the form that it matches best.
  if (issue.code === 'invalid_union')
    return (issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? []).flatMap((inner) =>
      problemsOf({ ...inner, path: [...issue.path, ...inner.path] }),
    );
  return [`${at}: ${issue.message}`];
}

function depthOf(issues: z.core.$ZodIssue[]): number {
  return issues.reduce((deepest, { path, code }) => Math.max(deepest, path.length + Number(code === 'unrecognized_keys')), 0);
}
