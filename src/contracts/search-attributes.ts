/** The search attributes of conversations in Temporal, with the names that Temporal gives their types. */
export const SEARCH_ATTRIBUTES = {
  AgentId: 'KEYWORD',
  UserId: 'KEYWORD',
  TenantId: 'KEYWORD',
  ConversationState: 'KEYWORD',
  SandboxTier: 'KEYWORD',
  AwaitingApproval: 'BOOL',
  /** Since when the conversation waits for a person: for the answer to an approval, or for the end of a pause. */
  WaitingSince: 'DATETIME',
  /** What its model calls have cost, as far as it is known, in US dollars. */
  CostUsd: 'DOUBLE',
  /** The conversation that gave a sub-agent its task. */
  ParentId: 'KEYWORD',
} as const;

/** Values of Temporal's enum IndexedValueType. */
export const INDEXED_TYPES = { KEYWORD: 2, DOUBLE: 4, BOOL: 5, DATETIME: 6 } as const;

/** The attributes that a namespace lacks, or has with another type. `registered`: types by name, as Temporal lists them. */
export function missingAttributes(registered: Readonly<Record<string, unknown>>): { name: SearchAttribute; problem: 'missing' | 'other type' }[] {
  return names.flatMap((name) => {
    const type = registered[name];
    if (type === INDEXED_TYPES[SEARCH_ATTRIBUTES[name]]) return [];
    return [{ name, problem: type === undefined ? ('missing' as const) : ('other type' as const) }];
  });
}

type SearchAttribute = keyof typeof SEARCH_ATTRIBUTES;
const names = Object.keys(SEARCH_ATTRIBUTES) as SearchAttribute[];
