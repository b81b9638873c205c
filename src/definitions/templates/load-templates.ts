import { readdir } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { isDefinition, YAML_FILE } from '../parse/definition-files.ts';
import { importDefinition } from '../parse/import-definition.ts';
import { parsedUnless, readDefinition, type Unset } from '../parse/read-definition.ts';
import { treatCredentials } from '../parse/treat-credentials.ts';
import { failure } from '../../contracts/errors.ts';
import { isObject } from '../../contracts/json.ts';
import { parseTemplate } from './parse-template.ts';
import type { Template } from './template.ts';
import { templateImage } from './template-image.ts';

export type Templates = ReadonlyMap<string, Template>;

/**
 * Reads all template files of a directory: YAML, and modules with a `defineTemplate` as their default export. Subdirectories are not read, so
 * they may contain Dockerfiles. A missing directory means no templates. An image that is built is named after its content.
 * @throws TEMPLATE_INVALID naming file, line, path and fix; CONFIG_INVALID when the directory cannot be read.
 */
export async function loadTemplates(directory: string, unset: Unset = 'refuse'): Promise<Map<string, Template>> {
  const templates = new Map<string, Template>();
  const files = new Map<string, string>();
  for (const file of await templateFiles(directory)) {
    const path = resolve(directory, file);
    const template = await (YAML_FILE.test(file) ? loadTemplate(path, unset) : importTemplate(path));
    const { name, build, options } = template;
    const first = files.get(name);
    if (first !== undefined) {
      throw failure('TEMPLATE_INVALID', { file, path: 'name', problem: `"${name}" is also the name of ${first}`, fix: 'Give one of them another name' });
    }
    files.set(name, file);
    templates.set(name, build ? { ...template, options: { ...options, image: await templateImage(name, build) } } : template);
  }
  return templates;
}

async function loadTemplate(path: string, unset: Unset): Promise<Template> {
  const { filled, source, missing } = await readDefinition(path, 'TEMPLATE_INVALID', treatCredentials, unset);
  const named = filled === null || isObject(filled) ? { name: basename(path, extname(path)), ...filled } : filled;
  return parsedUnless(missing, () => parseTemplate(named, source));
}

async function importTemplate(path: string): Promise<Template> {
  const template = await importDefinition<Template>(path, 'TEMPLATE_INVALID');
  const { name, options, pool } = template;
  // `defineTemplate` writes the name into the options.
  if (name !== undefined && options?.template === name && pool !== undefined) return template as Template;
  const problem = 'has no template as its default export';
  throw failure('TEMPLATE_INVALID', { file: basename(path), path: '(the whole file)', problem, fix: 'Write: export default defineTemplate({ … })' });
}

async function templateFiles(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter(isDefinition).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    const problem = `the directory of templates cannot be read (${(error as Error).message})`;
    throw failure('CONFIG_INVALID', { name: 'LONGSHORE_TEMPLATES', problem, fix: 'Correct it, or name another' }, error);
  }
}
