import { readFileSync } from 'node:fs';

/**
 * Text of a program in another language, such as Python or shell, which runs elsewhere than in this process. Each is a file beside the module that uses it,
 * where it is checked as what it is; `scripts/copy-assets.ts` puts it beside the compiled module.
 * @param module `import.meta.url` of the module
 */
export function readProgram(module: string, path: string): string {
  return readFileSync(new URL(path, module), 'utf8');
}
