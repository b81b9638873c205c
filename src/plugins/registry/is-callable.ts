import type { Tool } from '../api/define-plugin.ts';

/** Whether a model or code may call it: commands are called by messages of the user, webhooks by outside systems, and what takes part in steps by nobody. */
export function isCallable({ isCommand, hook, webhook }: Pick<Tool, 'isCommand' | 'hook' | 'webhook'>): boolean {
  return !isCommand && !hook && !webhook;
}
