import { CLIENT_PLUGIN } from '../../contracts/client-tool.ts';

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
