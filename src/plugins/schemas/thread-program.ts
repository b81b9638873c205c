import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../bundle/bundle-program.ts';

const SOURCE = fileURLToPath(new URL(`./validator-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** The program of validator threads. */
export function makeThreadProgram(): Promise<string> {
  return bundleProgram(SOURCE);
}
