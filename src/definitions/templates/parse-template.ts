import { resolve } from 'node:path';
import type { z } from 'zod';
import { invalidDefinition, plainDefinition, type DefinitionSource } from '../parse/invalid-definition.ts';
import { sandboxOptions } from '../parse/sandbox-options.ts';
import type { Template, TemplateBuild } from './template.ts';
import { templateSchema } from './template-schema.ts';

/**
 * Checks a definition.
 * @throws TEMPLATE_INVALID naming file, path, value and fix.
 */
export function parseTemplate(definition: unknown, source: DefinitionSource): Template {
  const parsed = templateSchema.safeParse(plainDefinition(definition, source));
  if (!parsed.success) throw invalidDefinition(templateSchema, parsed.error, source);
  const { name, pool, image, dockerfile: _dockerfile, packages: _packages, users: _users, setup: _setup, ...options } = parsed.data;
  const build = buildOf(parsed.data, source.directory);
  return {
    name,
    options: { ...sandboxOptions(options), template: name, ...(image !== undefined && !build && { image }) },
    ...(build && { build }),
    pool,
  };
}

type Parsed = z.output<typeof templateSchema>;

function buildOf({ image, dockerfile, packages, users, setup, workDirectory }: Parsed, directory: string): TemplateBuild | undefined {
  const parts = [...packages, ...users, ...setup, dockerfile, workDirectory];
  if (parts.every((part) => part === undefined)) return undefined;
  return {
    ...(image !== undefined && { base: image }),
    ...(dockerfile !== undefined && { dockerfile: resolve(directory, dockerfile) }),
    packages,
    users,
    setup,
    ...(workDirectory !== undefined && { workDirectory }),
  };
}
