import type { Tool } from '../api/define-plugin.ts';

/** Whether a model or code may call it: commands are called by messages of the user, and what takes part in steps by nobody. */
export function isCallable({ isCommand, hook }: Pick<Tool, 'isCommand' | 'hook'>): boolean {
  return !isCommand && !hook;
}
