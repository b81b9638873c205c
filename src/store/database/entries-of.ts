/**
 * The entries of a conversation's transcript as a table: its own, and those that it has as a fork of another conversation. `each` is a condition on every one,
 * and may end with an order and a limit.
 * @param conversation an expression that gives the id. It may name tables of the query around: those in here have names that no query has.
 */
export function entriesOf(conversation: string, each = 'true'): string {
  const columns = 'seq, key, turn_id, step_id, at, entry';
  const inherited = (
    table: string,
    id: string,
  ) => `(select * from (select ${prefixed(columns, 'shared_entry')}, shared_entry.seq = any(sharing_fork.hidden) as rewound
      from forks sharing_fork join transcript_parts shared_part on shared_part.conversation_id = sharing_fork.conversation_id
      join ${table} shared_entry on shared_entry.${id} = shared_part.${id === 'holder_id' ? 'holder_id' : 'source_id'}
        and shared_entry.seq > shared_part.after_seq and shared_entry.seq <= shared_part.to_seq
      where sharing_fork.conversation_id = ${conversation}) inherited where ${each})`;
  return `(
    (select ${columns}, rewound from transcript where transcript.conversation_id = ${conversation} and ${each})
    union all ${inherited('transcript', 'conversation_id')}
    union all ${inherited('kept_entries', 'holder_id')}
  )`;
}

function prefixed(columns: string, alias: string): string {
  return columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');
}
