export const SCHEDULED_WORKFLOW = 'scheduledConversation';

/** Longest message of a schedule, in characters: unlike other messages it goes through Temporal, with every run. */
export const MAX_SCHEDULED_MESSAGE_LENGTH = 16_384;

/** What a schedule says to whom; the input of its workflow, which can be edited in the Temporal UI. */
export interface ScheduledConversation {
  agent: string;
  user: string;
  tenant: string;
  message: string;
  /** The conversation waits for more when it has answered; otherwise it closes. */
  keepOpen: boolean;
}

/** Where a conversation comes from. (An alias: unlike an interface it counts as JSON.) */
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

/** The conversation of a schedule's run: the same one, however often that run is tried. Temporal's schedules count in whole seconds. */
export function scheduledConversationId({ scheduleId, at }: ScheduledBy): string {
  return `conv_${scheduleId}-${at.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}
