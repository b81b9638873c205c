import { readDefined } from '../parse/read-defined.ts';
import { parseTemplate } from './parse-template.ts';
import type { Template } from './template.ts';
import type { TemplateDefinition } from './template-schema.ts';

export type { TemplateDefinition };

/**
 * Creates a template in TypeScript, with the keys of a template file. A relative Dockerfile is looked for in `directory`, the working directory by default.
 * @throws TEMPLATE_INVALID naming path, value and fix.
 */
export function defineTemplate(definition: TemplateDefinition, options: { directory?: string } = {}): Template {
  const { written, file, directory } = readDefined(definition, options, { code: 'TEMPLATE_INVALID', kind: 'template', idKey: 'name' });
  return parseTemplate(written, { code: 'TEMPLATE_INVALID', file, directory, written, locate: () => file });
}
