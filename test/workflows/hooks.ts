import type { ConversationActivities, EditArgumentsResult } from '../../src/contracts/activities.ts';

/** What a test has activities of one conversation do; they succeed where it says nothing. */
export class Hooks {
  files: ConversationActivities['forkSandbox'] = async () => ({ outcome: 'ready', sandboxTier: 'none' });
  hold: () => Promise<void> = async () => undefined;
  edit: EditArgumentsResult | Promise<EditArgumentsResult> = { outcome: 'edited', hash: 'edited' };
  record: ConversationActivities['recordApproval'] = async () => undefined;
  rewind: () => Promise<void> = async () => undefined;
}
