import type { ContentPart, InlineMedia, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import { ATTACHMENT_LIMITS, isStoredMedia, SAVE_TOOL, type StoredMedia } from '../../contracts/attachments/media.ts';
import { mediaTypeOf, textOf } from '../../contracts/attachments/media-type.ts';

/** What a model takes besides texts. */
export interface TakenMedia {
  images: boolean;
  /** Media types of files. */
  documents: readonly string[];
}

type Media = InlineMedia | StoredMedia;
/** Reads the bytes of an image or a file of the conversation, or the first of them. */
export type ReadMedia = (blob: string, most?: number) => Promise<Uint8Array | undefined>;
interface MediaRequest {
  transcript: StoredEntry[];
  shown?: StoredEntry[];
  tools: readonly { tool: string; name: string }[];
  readMedia?: ReadMedia;
}
interface Situation {
  readMedia: ReadMedia | undefined;
  takes: TakenMedia;
  /** Those whose bytes are in the prompt. */
  given: ReadonlySet<Media>;
  howToSave: (part: StoredMedia) => string;
}

/** Bytes of a character at most. */
const WIDEST = 4;
/** Characters of base 64 that hold all by which images and PDF are known. */
const HEAD = 64;
const ID_SHOWN = 'sha256:'.length + 12;

/**
 * The entries of a prompt with the bytes of their images and files: as the model takes them, or as a text that says what is there and how it can be reached. Which
 * ones are given depends on the entries alone: the newest, as many as fit.
 */
export async function withMedia(request: MediaRequest, takes: TakenMedia): Promise<StoredEntry[]> {
  const entries = request.shown ?? request.transcript;
  const all = entries.flatMap(({ entry }) => mediaIn(entry));
  if (all.length === 0) return entries;
  const save = request.tools.find(({ tool }) => tool === SAVE_TOOL)?.name;
  const howToSave = ({ blob }: StoredMedia) =>
    save === undefined ? '' : ` Write it into the sandbox with ${save} and {"attachment": "${shortId(blob)}", "path": "…"}.`;
  const situation: Situation = { readMedia: request.readMedia, takes, given: newest(all, takes), howToSave };
  const changed: StoredEntry[] = [];
  for (const stored of entries) changed.push({ ...stored, entry: await filled(stored.entry, situation) });
  return changed;
}

export function shortId(blob: string): string {
  return blob.slice(0, ID_SHOWN);
}

function mediaIn(entry: TranscriptEntry): Media[] {
  return 'content' in entry ? entry.content.filter((part): part is Media => part.type !== 'text') : [];
}

/** Those that the model takes, the newest first, until a limit is reached. */
function newest(all: readonly Media[], takes: TakenMedia): Set<Media> {
  const given = new Set<Media>();
  let room = ATTACHMENT_LIMITS.bytesOfPrompt;
  for (const part of all.toReversed()) {
    if (!isTaken(part, takes)) continue;
    room -= bytesOf(part);
    if (room < 0 || given.size === ATTACHMENT_LIMITS.ofPrompt) return given;
    given.add(part);
  }
  return given;
}

function isTaken(part: Media, { images, documents }: TakenMedia): boolean {
  const { type, mediaType } = kindOf(part);
  return type === 'image' ? images : documents.includes(mediaType);
}

/** What a tool says about bytes in the transcript is not believed: a provider refuses a prompt that has an image which is none, in each step from then on. */
function kindOf(part: Media): Pick<StoredMedia, 'type' | 'mediaType'> {
  return isStoredMedia(part) ? part : mediaTypeOf(Buffer.from(part.data.slice(0, HEAD), 'base64'), part.mediaType);
}

async function filled(entry: TranscriptEntry, situation: Situation): Promise<TranscriptEntry> {
  if (!('content' in entry) || mediaIn(entry).length === 0) return entry;
  const content: ContentPart[] = [];
  for (const part of entry.content) content.push(...(part.type === 'text' ? [part] : await partsFor(part, situation)));
  return { ...entry, content };
}

async function partsFor(part: Media, situation: Situation): Promise<ContentPart[]> {
  const { takes, given } = situation;
  if (given.has(part)) return bytesFor(part, situation);
  if (kindOf(part).type === 'file' && !isTaken(part, takes)) return textOfFile(part, situation);
  return [text(`[${described(part)}. ${whyNot(part, takes)}${howToSave(part, situation)}]`)];
}

/** Only what is stored beside the transcript can be written into the sandbox. */
function howToSave(part: Media, situation: Situation): string {
  return isStoredMedia(part) ? situation.howToSave(part) : '';
}

async function readBytes(part: Media, { readMedia }: Situation, most?: number): Promise<Uint8Array | undefined> {
  if (isStoredMedia(part)) return readMedia?.(part.blob, most);
  return Buffer.from(part.data, 'base64').subarray(0, most);
}

function whyNot(part: Media, takes: TakenMedia): string {
  if (!isTaken(part, takes)) return 'This model does not see images.';
  return `Left out of this prompt, which has the newest ${ATTACHMENT_LIMITS.ofPrompt} images and documents of up to ${ATTACHMENT_LIMITS.bytesOfPrompt} bytes together.`;
}

async function bytesFor(part: Media, situation: Situation): Promise<ContentPart[]> {
  const bytes = await readBytes(part, situation);
  if (!bytes) return [text(`[${described(part)}. Its bytes are not kept any more.]`)];
  const { type, mediaType } = kindOf(part);
  const name = nameOf(part) ?? 'file';
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  const told = isStoredMedia(part) ? [text(`[${described(part)}]`)] : [];
  return [...told, type === 'image' ? { type, mediaType, data } : { type, mediaType, name, data }];
}

async function textOfFile(part: Media, situation: Situation): Promise<ContentPart[]> {
  const most = ATTACHMENT_LIMITS.text;
  const head = await readBytes(part, situation, most * WIDEST);
  if (!head) return [text(`[${described(part)}. Its bytes are not kept any more.]`)];
  const isCut = head.byteLength < bytesOf(part);
  const whole = textOf(head, isCut);
  if (whole === undefined) return [text(`[${described(part)}. It is no text, and no document that this model reads.${howToSave(part, situation)}]`)];
  if (!isCut && whole.length <= most) return [text(`[${described(part)}. Its text:]\n${whole}\n[End of the file.]`)];
  return [
    text(`[${described(part)}. Its first ${most} characters:]\n${whole.slice(0, most)}\n[The rest of the file is left out.${howToSave(part, situation)}]`),
  ];
}

function described(part: Media): string {
  const { type, mediaType } = kindOf(part);
  const name = nameOf(part);
  const id = isStoredMedia(part) ? `, id ${shortId(part.blob)}` : '';
  return `Attached ${type}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${mediaType}, ${bytesOf(part)} bytes${id}`;
}

function nameOf(part: Media): string | undefined {
  return 'name' in part ? part.name : undefined;
}

function bytesOf(part: Media): number {
  return isStoredMedia(part) ? part.bytes : Buffer.from(part.data, 'base64').byteLength;
}

function text(said: string): ContentPart {
  return { type: 'text', text: said };
}
