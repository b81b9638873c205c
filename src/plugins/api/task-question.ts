import type { Json } from '../../contracts/json.ts';
import type { PluginTimer } from '../../contracts/plugins/timer.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { ModelQuestion } from './server-question.ts';

/** What a task of a plugin wants outside of calls. `conversations`: to know the open ones that have it. */
export type TaskWish = ConversationWish | { what: 'conversations' };

/** The conversation is the one that the plugin names, and is not checked. */
export type ConversationWish = { conversationId: string } & (
  | { what: 'send'; parts: ContentPart[] }
  | { what: 'note'; text: string; wake: boolean }
  | { what: 'set-timer'; timer: Omit<PluginTimer, 'timerId'> }
  | { what: 'clear-timers'; temporary?: boolean }
  | { what: 'timers' }
  | { what: 'model'; question: ModelQuestion }
  | { what: 'model-name' }
);

export interface TaskQuestion {
  pluginId: string;
  /** Whose process of the plugin asks. */
  tenantId: string;
  /** The same each time the question is asked. */
  id: string;
  wish: TaskWish;
}

/**
 * Does what a task wants, once for each id. Undefined: the answer is not there yet, and the question is to be asked again.
 * @throws TaskRefused, with what the plugin is told; any other error leaves the question to be asked again
 */
export type AnswerTask = (question: TaskQuestion) => Promise<Json | undefined>;

export class TaskRefused extends Error {}
