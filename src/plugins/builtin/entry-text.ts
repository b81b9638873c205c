import { nameOfMedia } from '../../contracts/attachments/media.ts';
import type { StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';

/** All that an entry says, as one text. */
export function textOfEntry(entry: TranscriptEntry): string {
  if (entry.role === 'note') return entry.text;
  if (entry.role !== 'assistant') return entry.content.map((part) => (part.type === 'text' ? part.text : nameOfMedia(part))).join('\n');
  const texts = entry.parts.map((part) => {
    if (part.type === 'tool-call') return `Call of ${part.tool} with ${JSON.stringify(part.arguments)}`;
    return part.type === 'text' ? part.text : '';
  });
  return texts.filter((text) => text !== '').join('\n');
}

export function describeEntry({ seq, entry }: StoredEntry): string {
  return `Entry ${seq} (${whoseOf(entry)})`;
}

function whoseOf(entry: TranscriptEntry): string {
  if (entry.role === 'tool') return `${entry.isError ? 'error' : 'result'} of ${entry.tool}`;
  return { user: 'message of the user', assistant: 'your answer', note: 'note' }[entry.role];
}
