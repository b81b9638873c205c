import type { CallResult, NewMethodCall } from '../../../store/tool-call-rows.ts';
import type { NewEvent } from '../../../store/store.ts';

/** A call of code that runs within the attempt of the call whose code made it. */
export interface Within {
  /** The call and its event, for the ledger, which does not have the call yet. */
  proposal: NewMethodCall;
  requested: NewEvent;
  /** Aborts when that attempt has ended. */
  signal: AbortSignal;
  /** It may run before it has a row: no worker has received it before, and all earlier calls could be stored. */
  mayBeLate: boolean;
  /** Gets the result of a call without a row, before it is stored. */
  onResult: (result: CallResult) => void;
  /** Gets the result when this attempt is the one that stored it. */
  onStored: (result: CallResult) => void;
}
