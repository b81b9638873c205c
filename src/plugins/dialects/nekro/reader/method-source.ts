import type { JsonObject } from '../../../../contracts/json.ts';

/** What is passed with a mounted method besides the function itself, because a bundle has neither comments nor types. */
export interface MethodSource {
  name?: string;
  /** The text of its doc comment. */
  doc?: string;
  /** In the order of the function; the first one is the context. */
  parameters: Parameter[];
  /** Comment and types of the source are not known. */
  isUnread?: true;
}

export interface Parameter {
  /** As it is in the source. */
  written: string;
  /** Empty for anything but a plain name. */
  name: string;
  optional: boolean;
  /** JSON Schema with description and default. */
  schema: JsonObject;
}
