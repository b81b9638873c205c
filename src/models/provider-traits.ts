import type { JsonObject } from '../contracts/json.ts';

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
  /** Provider options that apply unless the agent sets others. */
  defaults?: JsonObject;
  /** Marks the end of what the provider may cache. */
  cacheMark?: Record<string, JsonObject>;
}
