export const SCHEDULED_WORKFLOW = 'scheduledConversation';

/** Longest message of a schedule, in characters. Unlike other messages, it goes through Temporal, with every run. */
export const MAX_SCHEDULED_MESSAGE_LENGTH = 16_384;

/** What a schedule sends and for whom; the input of its workflow, which can be edited in the Temporal UI. */
export interface ScheduledConversation {
  agent: string;
  user: string;
  tenant: string;
  message: string;
  /** The conversation waits for more when it has answered; otherwise it closes. */
  keepOpen: boolean;
}

/** The schedule that started a conversation. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type ScheduledBy = {
  scheduleId: string;
  /** The time that the run was due, ISO 8601; it may have begun later. */
  at: string;
};

export interface StartScheduledArgs extends ScheduledConversation {
  scheduledBy: ScheduledBy;
}
export interface StartScheduledResult {
  conversationId: string;
}

/** Id of the conversation of a schedule's run: the same for every attempt of the run. Temporal's schedules count in whole seconds. */
export function scheduledConversationId({ scheduleId, at }: ScheduledBy): string {
  return `conv_${scheduleId}-${at.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** Whether the id is one that a run of a schedule has, or may have later. */
export function isScheduledId(conversationId: string): boolean {
  return /^conv_.+-\d{8}T\d{6}Z$/.test(conversationId);
}
