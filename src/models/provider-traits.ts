import type { JsonObject } from '../contracts/json.ts';
import type { TakenMedia } from './media/prompt-media.ts';
import type { Compacting } from './windows.ts';

/** The differences between providers. */
export interface ProviderTraits {
  /** As in the agent's file, `provider/name`. */
  model: string;
  /** Environment variable of the key, for error messages. */
  variable: string;
  /** Name of the provider's own options in the library. */
  optionsKey: string;
  /** Whether a tool's result may contain images; otherwise they follow as a user message. */
  mediaInToolResults: boolean;
  /** What it takes in messages besides texts. */
  takes: TakenMedia;
  /** Provider options that apply unless the agent sets others. */
  defaults?: JsonObject;
  /** The provider takes the schema of an answer beside tools, and need not be told that it holds for every keyword. */
  takesOutput?: true;
  /** Options with which the provider clears older results on its side, in windows of so many tokens. Absent: it cannot. */
  contextEdits?: (window: Required<Pick<Compacting, 'window' | 'compactAt'>>) => JsonObject;
  /** How many tokens it cleared, in what it says of an answer. */
  clearedTokens?: (metadata: unknown) => number | undefined;
  /** Marks the end of what the provider may cache. */
  cacheMark?: Record<string, JsonObject>;
}
