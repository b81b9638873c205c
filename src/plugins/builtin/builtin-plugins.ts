import { CLIENT_PLUGIN } from '../../contracts/client-tool.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { codePlugin } from './code.ts';
import { filesPlugin } from './files.ts';
import { shellPlugin } from './shell.ts';

/** The plugins that every worker has. */
export const BUILTIN_PLUGINS: Plugin[] = [shellPlugin, codePlugin, filesPlugin];

/** Ids that no plugin of one's own can have: those of the plugins that come with Longshore. */
export const BUILTIN_IDS: readonly string[] = [
  'agents',
  'attachments',
  CLIENT_PLUGIN,
  'code',
  'context',
  'files',
  'memory',
  'plan',
  'shell',
  'skills',
  'tools',
];
