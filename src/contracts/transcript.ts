import type { ClientTools } from './client-tool.ts';
import type { StoredMedia } from './attachments/media.ts';
import type { JsonObject } from './json.ts';
import type { OfferLimits } from './sub-agents/sandbox-use.ts';
import type { PlanItem } from './plan/plan.ts';
import type { Usage } from './usage.ts';

/** An image or a file with its bytes; `data` is base 64. */
export type InlineMedia = { type: 'image'; mediaType: string; data: string } | { type: 'file'; mediaType: string; name: string; data: string };
/** A piece of content given to a model or a user. */
export type ContentPart = { type: 'text'; text: string } | InlineMedia | StoredMedia;

export type AssistantPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; providerMetadata?: JsonObject }
  | {
      type: 'tool-call';
      callId: string;
      tool: string;
      arguments: JsonObject;
      /** What was wrong with arguments that were not a JSON object; such a call never runs. */
      unreadable?: string;
      providerMetadata?: JsonObject;
    };

/** Why the provider ended an answer before the model had: its limit of tokens, or a filter of content. */
export const CUT_OFF = ['length', 'content-filter'] as const;
export type CutOff = (typeof CUT_OFF)[number];

/** What stands behind an answer that was cut off, where nothing else can say so. */
export function cutOffText(cutOff: CutOff): string {
  const how = cutOff === 'length' ? 'at its limit of tokens' : "by the provider's content filter";
  return `The answer was cut off ${how}: what should have followed, such as calls of tools, is missing.`;
}

/**
 * One entry of a conversation's transcript, which the model reads. A `note` comes from Longshore itself (a lost sandbox, an edited call), or, with `from`, from files of the
 * sandbox: then its text is the guest's.
 */
export type TranscriptEntry =
  | {
      role: 'user';
      content: ContentPart[];
      /** The tools of clients that the message declares, where they differ from those that were declared before; they hold from then on. */
      clientTools?: ClientTools;
    }
  | { role: 'assistant'; parts: AssistantPart[]; usage?: Usage; cutOff?: CutOff }
  | { role: 'tool'; callId: string; tool: string; content: ContentPart[]; isError: boolean }
  | { role: 'note'; text: string; from?: 'sandbox' };

/** The answer of a model, with what it used. */
export type Answer = TranscriptEntry & { role: 'assistant'; usage: Usage };

/** The text of an answer. */
export function saidIn({ parts }: TranscriptEntry & { role: 'assistant' }): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** A transcript entry as stored: `seq` orders the conversation, and `turnId` and `stepId` say where the entry belongs. */
export interface StoredEntry {
  seq: number;
  turnId: string;
  stepId?: string;
  at: string;
  /** A rewind went back beyond it: the model does not read it. */
  rewound?: true;
  entry: TranscriptEntry;
}

/** The tool with which a model reads what was left out of its prompt. */
export const RECALL_TOOL = 'context:recall';

/** A prompt that is still too long after so many compactions for one step is sent as it is: the provider decides. */
export const MOST_COMPACTIONS = 5;

/** Why a prompt was made smaller: it fills the model's window, the provider refused it as too long, or an operator wished it. */
export type CompactionReason = 'full' | 'too-long' | 'operator';

/** A part of the transcript that has to be kept word for word, and the entry that says it. */
export interface Quote {
  text: string;
  entry: number;
  /** Who says it: the user, or an output of a tool or the model itself. */
  by: 'user' | 'other';
}

/** Stands in the prompt for all entries up to `to` that are no messages of the user. */
export interface ContextSummary {
  to: number;
  /** `digest`: a list of calls, made without a model. */
  by: 'model' | 'digest';
  goal: string;
  constraints: Quote[];
  decisions: string;
  files: string;
  openWork: string;
  /** The plan of the agent at that time; absent without one. */
  plan?: PlanItem[];
}

/** What a compaction leaves out of the prompt. Numbers are the `seq` of transcript entries. */
export interface LeftOut {
  /** Long results and long arguments of calls up to this entry. */
  outputsTo?: number;
  summary?: ContextSummary;
  /** The last resort: the middle of texts that are longer than so many characters, up to this entry. */
  cut?: { to: number; characters: number };
}

/** A compaction is added to the transcript and changes nothing of it: it says what the prompt leaves out from then on. */
export interface Compaction {
  compactionId: string;
  at: string;
  /** The newest entry of the transcript when it was made. */
  afterSeq: number;
  /** The newest entry when it was undone. */
  undoneAfterSeq?: number;
  reason: CompactionReason;
  leftOut: LeftOut;
  tokensBefore: number;
  tokensAfter: number;
  /** Of the model calls for its summary. */
  usage?: Usage;
}

/** Arguments of the activity that makes the prompts of a conversation smaller. */
export interface CompactContextArgs extends OfferLimits {
  compactionId: string;
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  /** Absent between turns. */
  turnId?: string;
  /** As for a model call. */
  tokensLeft?: number;
  reason: CompactionReason;
  /** How often the prompt of the step was made smaller before: each time, more is left out. */
  before: number;
}
/** `changed`: whether there was anything to leave out. `usage`: of the model calls for a summary. */
export interface CompactContextResult {
  changed: boolean;
  usage?: Usage;
}
export interface RestoreContextArgs {
  conversationId: string;
  /** Repeated attempts with the same id undo one compaction. */
  requestId: string;
}

/** The activities about compactions. */
export interface CompactionActivities {
  /** Makes the prompts from the next model call on smaller. Repeated attempts make one compaction. */
  compactContext(args: CompactContextArgs): Promise<CompactContextResult>;
  /** Undoes the newest compaction. */
  restoreContext(args: RestoreContextArgs): Promise<void>;
}

/** What an operator asks for; an empty one compacts. */
export interface CompactArgs {
  /** Undo the newest compaction. */
  undo?: boolean | undefined;
}
/** What was asked for, until it is done. */
export interface ContextWish {
  requestId: string;
  undo: boolean;
}
