import type { ContentPart, InlineMedia, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import { ATTACHMENT_LIMITS, isStoredMedia, nameOfMedia, SAVE_TOOL, type StoredMedia } from '../../contracts/attachments/media.ts';
import { textOf } from '../../contracts/attachments/media-type.ts';

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
    room -= isStoredMedia(part) ? part.bytes : Math.floor((part.data.length * 3) / 4);
    if (room < 0 || given.size === ATTACHMENT_LIMITS.ofPrompt) return given;
    given.add(part);
  }
  return given;
}

/** Files with their bytes in the transcript are those of tools of earlier versions, which all providers were given. */
function isTaken(part: Media, { images, documents }: TakenMedia): boolean {
  if (part.type === 'image') return images;
  return !isStoredMedia(part) || documents.includes(part.mediaType);
}

async function filled(entry: TranscriptEntry, situation: Situation): Promise<TranscriptEntry> {
  if (!('content' in entry) || mediaIn(entry).length === 0) return entry;
  const content: ContentPart[] = [];
  for (const part of entry.content) content.push(...(part.type === 'text' ? [part] : await partsFor(part, situation)));
  return { ...entry, content };
}

async function partsFor(part: Media, situation: Situation): Promise<ContentPart[]> {
  const { takes, given } = situation;
  if (given.has(part)) return isStoredMedia(part) ? bytesFor(part, situation) : [part];
  if (!isStoredMedia(part)) return [text(`${nameOfMedia(part)} (${whyNot(part, takes)})`)];
  if (part.type === 'file' && !isTaken(part, takes)) return textOfFile(part, situation);
  return [text(`[${described(part)}. ${whyNot(part, takes)}${situation.howToSave(part)}]`)];
}

function whyNot(part: Media, takes: TakenMedia): string {
  if (!isTaken(part, takes)) return 'This model does not see images.';
  return `Left out of this prompt, which has the newest ${ATTACHMENT_LIMITS.ofPrompt} images and documents of up to ${ATTACHMENT_LIMITS.bytesOfPrompt} bytes together.`;
}

async function bytesFor(part: StoredMedia, { readMedia }: Situation): Promise<ContentPart[]> {
  const bytes = await readMedia?.(part.blob);
  if (!bytes) return [text(`[${described(part)}. Its bytes are not kept any more.]`)];
  const { mediaType, name = 'file' } = part;
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return [text(`[${described(part)}]`), part.type === 'image' ? { type: 'image', mediaType, data } : { type: 'file', mediaType, name, data }];
}

async function textOfFile(part: StoredMedia, { readMedia, howToSave }: Situation): Promise<ContentPart[]> {
  const most = ATTACHMENT_LIMITS.text;
  const head = await readMedia?.(part.blob, most * WIDEST);
  if (!head) return [text(`[${described(part)}. Its bytes are not kept any more.]`)];
  const isCut = head.byteLength < part.bytes;
  const whole = textOf(head, isCut);
  if (whole === undefined) return [text(`[${described(part)}. It is no text, and no document that this model reads.${howToSave(part)}]`)];
  if (!isCut && whole.length <= most) return [text(`[${described(part)}. Its text:]\n${whole}\n[End of the file.]`)];
  return [text(`[${described(part)}. Its first ${most} characters:]\n${whole.slice(0, most)}\n[The rest of the file is left out.${howToSave(part)}]`)];
}

function described({ type, name, mediaType, bytes, blob }: StoredMedia): string {
  return `Attached ${type}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${mediaType}, ${bytes} bytes, id ${shortId(blob)}`;
}

function text(said: string): ContentPart {
  return { type: 'text', text: said };
}
