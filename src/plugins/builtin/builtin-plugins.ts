import type { Plugin } from '../api/define-plugin.ts';
import { codePlugin } from './code.ts';
import { filesPlugin } from './files.ts';
import { shellPlugin } from './shell.ts';

/** The plugins that every worker has. */
export const BUILTIN_PLUGINS: Plugin[] = [shellPlugin, codePlugin, filesPlugin];
