import type { Tool } from '../api/define-plugin.ts';

/** Whether a model or code may call it. Messages of the user call commands, outside systems call webhooks, and steps call handlers of hooks. */
export function isCallable({ isCommand, hook, webhook }: Pick<Tool, 'isCommand' | 'hook' | 'webhook'>): boolean {
  return !isCommand && !hook && !webhook;
}
