import { ATTACHMENT_LIMITS, isBlob } from '../../contracts/attachments/media.ts';
import { PDF } from '../../contracts/attachments/media-type.ts';
import type { Compaction, StoredEntry } from '../../contracts/transcript.ts';
import { isObject } from '../../contracts/json.ts';
import type { TakenMedia } from '../media/prompt-media.ts';
import { createArrayMeasure } from './length-of-json.ts';
import { lastChange } from './left-out.ts';
import { shownEntries } from './shown-entries.ts';

/** Bytes of text for each token, at the least: texts in English have about four, code and JSON three. */
const BYTES_PER_TOKEN = 3;
/** Tokens of an image, whatever its size in bytes: providers scale images down to about this. */
const TOKENS_OF_IMAGE = 1_600;
/** Bytes of a PDF for each token, roughly, and the most that one counts. */
const BYTES_OF_DOCUMENT = 30;
const MOST_OF_DOCUMENT = 150_000;
/** Files of these types are no text, so that a prompt has a line about them. Of others, it may have the text: some systems call tables in text files of Excel. */
const NO_TEXT =
  /^(?:audio|font|video)\/|^application\/(?:gzip|java-archive|msword|octet-stream|wasm|x-7z-compressed|x-bzip2?|x-rar-compressed|x-sqlite3|x-tar|x-xz|zip|zstd|vnd\.(?:ms-(?!excel$)|oasis\.opendocument|openxmlformats|rar|sqlite3)[^+]*)$/;
const TOKENS_OF_LINE = 150;
/** A provider that counts far less or far more than the estimate is not believed. */
const LEAST_SCALE = 0.2;
const MOST_SCALE = 3;

/** What a prompt is made of. */
export interface PromptParts {
  transcript: readonly StoredEntry[];
  compactions: readonly Compaction[];
  instructions: string;
  tools: readonly object[];
  recall: string;
  /** What the model takes besides texts; of the rest, a prompt has lines. Absent: images and documents. */
  takes?: TakenMedia | undefined;
}

/**
 * The tokens of the prompt. Those of the newest answer and what it answered are counted by the provider, what was added since then is an estimate; after a
 * compaction all of it is an estimate, corrected by how far off the estimate was at the newest answer.
 */
export function promptTokens(parts: PromptParts): number {
  const { transcript, compactions, recall } = parts;
  const shown = shownEntries(transcript, compactions, recall);
  const counted = newestCount(transcript);
  if (!counted) return estimateOf(parts, shown);
  if (counted.seq > lastChange(compactions)) return counted.inputTokens + counted.outputTokens + estimateEntries(entriesAfter(shown, counted.seq), parts.takes);
  return Math.ceil(estimateOf(parts, shown) * scaleOf(parts));
}

/** Tokens as the provider counts them for each token of the estimate. */
export function scaleOf(parts: PromptParts): number {
  const counted = newestCount(parts.transcript);
  if (!counted) return 1;
  const before = shownEntries(parts.transcript, parts.compactions, parts.recall, counted.seq);
  return Math.min(MOST_SCALE, Math.max(LEAST_SCALE, counted.inputTokens / estimateOf(parts, before)));
}

export function estimateTokens(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value, countedAs())) / BYTES_PER_TOKEN);
}

type Measure = ReturnType<typeof createArrayMeasure>;
const measures = new Map<string, Measure>();

function measureFor(takes: TakenMedia | undefined): Measure {
  const key = JSON.stringify(takes ?? null);
  const measure = measures.get(key) ?? createArrayMeasure((json) => Buffer.byteLength(json), countedAs(takes));
  measures.set(key, measure);
  return measure;
}

/** The same, which measures entries of a transcript once. */
export function estimateEntries(entries: readonly StoredEntry[], takes?: TakenMedia): number {
  return Math.ceil(measureFor(takes)(entries.map(({ entry }) => entry)) / BYTES_PER_TOKEN);
}

function estimateOf({ instructions, tools, takes }: Pick<PromptParts, 'instructions' | 'tools' | 'takes'>, shown: readonly StoredEntry[]): number {
  return estimateTokens({ instructions, tools }) + estimateEntries(shown, takes);
}

function entriesAfter(shown: readonly StoredEntry[], after: number): StoredEntry[] {
  return shown.filter(({ seq }) => seq > after);
}

function newestCount(transcript: readonly StoredEntry[]): { seq: number; inputTokens: number; outputTokens: number } | undefined {
  for (const { seq, entry } of transcript.toReversed()) {
    if (entry.role === 'assistant' && entry.usage && entry.usage.inputTokens > 0) return { seq, ...entry.usage };
  }
  return undefined;
}

/** A replacer for JSON: an image or a file has as many characters as it counts. */
function countedAs(takes: TakenMedia = { images: true, documents: [PDF] }): (name: string, value: unknown) => unknown {
  const as = (value: Record<string, unknown>, tokens: number) => ({ ...value, type: 'counted', data: 'x'.repeat(tokens * BYTES_PER_TOKEN) });
  return (_name, value) => {
    if (isObject(value) && isBlob(value['blob'])) return as(value, tokensOfStored(value, takes));
    return isObject(value) && value['type'] === 'image' && typeof value['data'] === 'string' ? as(value, tokensOfImage(takes)) : value;
  };
}

function tokensOfImage({ images }: TakenMedia): number {
  return images ? TOKENS_OF_IMAGE : TOKENS_OF_LINE;
}

/** What the provider will count is known only of texts; a document has about a page for as many tokens as an image. */
function tokensOfStored({ type, mediaType, bytes }: Record<string, unknown>, takes: TakenMedia): number {
  const size = typeof bytes === 'number' && bytes > 0 ? bytes : 0;
  if (type === 'image') return tokensOfImage(takes);
  if (typeof mediaType === 'string' && (NO_TEXT.test(mediaType) || (mediaType === PDF && !takes.documents.includes(PDF)))) return TOKENS_OF_LINE;
  if (mediaType === PDF) return Math.min(MOST_OF_DOCUMENT, Math.max(TOKENS_OF_IMAGE, Math.ceil(size / BYTES_OF_DOCUMENT)));
  return Math.ceil(Math.min(size, ATTACHMENT_LIMITS.text) / BYTES_PER_TOKEN);
}
