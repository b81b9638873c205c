import { patched, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SEARCH_ATTRIBUTES } from '../../contracts/search-attributes.ts';
import type { ConversationData } from '../state/conversation-data.ts';
import { stateOf, waitingSinceMs } from '../state/conversation-status.ts';
import { renderDetails } from './render-details.ts';

/** Conversations that ran before set no `WaitingSince` and no `CostUsd`. */
const SORTED = 'sorted-by-waiting-and-cost';
/** Of a conversation that never waited and cost nothing. */
const NOTHING = ' 0';

type Attribute = Extract<Parameters<typeof upsertSearchAttributes>[0], unknown[]>[number];

/** Sets details and search attributes for the Temporal UI; search attributes only when they change, since each change is an event of the history. */
export function showToOperators(data: ConversationData): () => void {
  let [shown, sorted] = ['', NOTHING];
  return () => {
    setCurrentDetails(renderDetails(data, Date.now()));
    const state = stateOf(data);
    const awaitsApproval = data.approvals.some(({ answer }) => answer === undefined);
    const facts = [state, data.sandboxTier, awaitsApproval].join();
    const isNew = facts !== shown;
    shown = facts;
    const attributes: Attribute[] = [];
    if (isNew) {
      attributes.push(
        { key: key('ConversationState', 'KEYWORD'), value: state },
        { key: key('SandboxTier', 'KEYWORD'), value: data.sandboxTier },
        { key: key('AwaitingApproval', 'BOOL'), value: awaitsApproval },
      );
    }
    const { waitingSince, costUsd, rough } = sortable(data);
    if ((isNew || rough !== sorted) && (rough !== NOTHING || sorted !== NOTHING) && patched(SORTED)) {
      sorted = rough;
      attributes.push({ key: key('WaitingSince', 'DATETIME'), value: waitingSince }, { key: key('CostUsd', 'DOUBLE'), value: costUsd });
    }
    if (attributes.length > 0) upsertSearchAttributes(attributes);
  };
}

/** What operators sort by. `rough` changes with the first digit of the cost, so that a turn of many cheap steps makes few events; the end of a turn shows all digits. */
function sortable(data: ConversationData): { waitingSince: Date | null; costUsd: number; rough: string } {
  const sinceMs = waitingSinceMs(data);
  const costUsd = data.costUsd ?? 0;
  return { waitingSince: sinceMs === undefined ? null : new Date(sinceMs), costUsd, rough: `${sinceMs ?? ''} ${costUsd.toPrecision(1)}` };
}

/** The types of Temporal's SDK want each name with its own type. */
function key<Name extends keyof typeof SEARCH_ATTRIBUTES, Type extends (typeof SEARCH_ATTRIBUTES)[Name]>(name: Name, type: Type): { name: Name; type: Type } {
  return { name, type };
}
