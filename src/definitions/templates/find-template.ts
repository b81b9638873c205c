import { failure } from '../../contracts/errors.ts';
import type { Templates } from './load-templates.ts';
import type { Template } from './template.ts';

/** Returns a template by its name. @throws TEMPLATE_NOT_FOUND naming the known templates. */
export function findTemplate(templates: Templates, name: string, directory: string): Template {
  const found = templates.get(name);
  if (found) return found;
  throw failure('TEMPLATE_NOT_FOUND', { template: name, known: [...templates.keys()].join(', ') || 'none', directory });
}
