import { isStoredMedia, nameOfMedia } from '../../contracts/attachments/media.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { ContentPart, TranscriptEntry } from '../../contracts/transcript.ts';
import { splitMiddle } from '../../contracts/visible-text.ts';

/** Characters of a result up to which it stays in the prompt: the text that would stand for it is not much shorter. */
const SHORT_RESULT = 600;
/** As `SHORT_RESULT`, for each text in the arguments of a call. */
const SHORT_ARGUMENT = 1_000;

/** How the prompt tells the model to read an entry: the name of the tool, as the model knows it, and the entry. */
export interface Place {
  recall: string;
  seq: number;
}

/** The entry without a long result or long arguments. Messages of the user, and what the model said, stay as they are. */
export function withoutOutput(entry: TranscriptEntry, place: Place): TranscriptEntry {
  if (entry.role === 'tool') return { ...entry, content: shortContent(entry.content, place) };
  if (entry.role !== 'assistant') return entry;
  const shorter = (text: string) => (text.length <= SHORT_ARGUMENT ? text : `[Left out to save room: ${text.length} characters. ${howToRead(place)}]`);
  return withArguments(entry, shorter);
}

/**
 * The entry without the middle of its long texts.
 * @param place absent for what is no entry of the transcript
 */
export function withoutMiddles(entry: TranscriptEntry, characters: number, place?: Place): TranscriptEntry {
  const cut = (text: string) => cutText(text, characters, place);
  if (entry.role === 'note') return { ...entry, text: cut(entry.text) };
  if (entry.role !== 'assistant') return { ...entry, content: entry.content.map((part) => cutPart(part, characters, cut, place)) };
  const parts = entry.parts.map((part) => (part.type === 'text' ? { ...part, text: cut(part.text) } : part));
  return withArguments({ ...entry, parts }, cut);
}

export function howToRead({ recall, seq }: Place): string {
  return `Read it with ${recall} and {"entry": ${seq}}.`;
}

function shortContent(content: ContentPart[], place: Place): ContentPart[] {
  const characters = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  const media = content.filter((part) => part.type !== 'text');
  if (characters <= SHORT_RESULT && media.length === 0) return content;
  const what = [`${characters} characters`, ...media.map(nameOfMedia)].join(', ');
  return [{ type: 'text', text: `[Left out to save room: the result of this call (${what}). ${howToRead(place)}]` }];
}

function withArguments(entry: TranscriptEntry & { role: 'assistant' }, change: (text: string) => string): TranscriptEntry {
  const parts = entry.parts.map((part) => (part.type === 'tool-call' ? { ...part, arguments: mapTexts(part.arguments, change) as JsonObject } : part));
  return { ...entry, parts };
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
}

function cutPart(part: ContentPart, characters: number, cut: (text: string) => string, place: Place | undefined): ContentPart {
  if (part.type === 'text') return { ...part, text: cut(part.text) };
  if (!isStoredMedia(part) && part.data.length <= characters) return part;
  return { type: 'text', text: `[Left out to save room: ${nameOfMedia(part)}.${place ? ` ${howToRead(place)}` : ''}]` };
}

function cutText(text: string, characters: number, place: Place | undefined): string {
  const pieces = splitMiddle(text, characters);
  const how = place ? ` ${howToRead(place)}` : '';
  return pieces ? `${pieces.head}\n[… ${pieces.left} characters left out to save room.${how} …]\n${pieces.tail}` : text;
}
