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

/** What a namespace lacks, in words, and what to do. One that has another type cannot be registered again. */
export function tellMissing(lacks: ReturnType<typeof missingAttributes>): { missing: string; fix: string } {
  const missing = lacks.map(({ name, problem }) => (problem === 'missing' ? name : `${name} (it has another type)`)).join(', ');
  if (lacks.every(({ problem }) => problem === 'missing')) return { missing, fix: 'Register them, which may be repeated: longshore setup' };
  const fix = 'Remove those of another type, if no other program uses them (temporal operator search-attribute remove), then: longshore setup';
  return { missing, fix };
}

type SearchAttribute = keyof typeof SEARCH_ATTRIBUTES;
const names = Object.keys(SEARCH_ATTRIBUTES) as SearchAttribute[];
