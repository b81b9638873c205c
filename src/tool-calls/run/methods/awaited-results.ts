import type { CallResult, ToolCallRow } from '../../../store/tool-call-rows.ts';

export type StoredResult = Pick<ToolCallRow, keyof CallResult | 'tool'>;

/**
 * The callers in this worker that wait for results of calls, by call id. A result that this worker stores reaches them at once, before the next read of
 * the ledger finds it. A result that another worker stores is only found in the ledger.
 */
export type AwaitedResults = Map<string, (result: StoredResult) => void>;
