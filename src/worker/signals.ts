import { WorkflowNotFoundError, type Client } from '@temporalio/client';

export type Signal = (conversationId: string, name: string, ...args: object[]) => Promise<void>;

/** Signals conversations. One that has ended takes no signal, and needs none. */
export function createSignal(client: Pick<Client, 'workflow'>): Signal {
  return async (conversationId, name, ...args) => {
    try {
      await client.workflow.getHandle(conversationId).signal(name, ...args);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };
}
