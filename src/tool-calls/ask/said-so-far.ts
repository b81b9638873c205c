import { saidIn, type StoredEntry } from '../../contracts/transcript.ts';
import type { SaidMessage } from '../../plugins/api/server-question.ts';

/** What people may read of a transcript, oldest first: nothing of tools, of notes, of what the model thought, and of what a rewind took back. */
export function saidSoFar(transcript: readonly StoredEntry[]): SaidMessage[] {
  return transcript.flatMap(({ seq, at, rewound, entry }): SaidMessage[] => {
    if (rewound) return [];
    if (entry.role === 'user') {
      const text = entry.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
      return [{ id: String(seq), by: 'user', text, at }];
    }
    const text = entry.role === 'assistant' ? saidIn(entry).trim() : '';
    return text === '' ? [] : [{ id: String(seq), by: 'agent', text, at }];
  });
}
