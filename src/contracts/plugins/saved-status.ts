import type { ConversationStatus } from '../conversation.ts';
import type { ModelShare } from '../usage.ts';

/** The status as the workflow saves it. */
export interface SavedStatus extends ConversationStatus {
  /** What tasks of plugins may use of the budget in all, with what is counted already; what is absent in it is not limited. Absent from sub-agents and earlier versions. */
  tasksMayUse?: ModelShare;
}
