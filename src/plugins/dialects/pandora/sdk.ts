/**
 * The types that Pandora plugins import from `@pandorakit/sdk` and `@pandorakit/sdk/tools`. There are only types, so that the import adds no code.
 */

export type SandboxMode = 'compartment' | 'host';

export interface ToolPermissions {
  time?: boolean;
  /** Exact host names. */
  network?: string[];
  env?: string[];
  /** Path prefixes that may be read. */
  fs?: string[];
  random?: boolean;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
}

export interface Logger {
  log(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

export interface ToolExecuteContext {
  /** The variables that the manifest's permissions name. */
  env: Record<string, string | undefined>;
  logger: Logger;
  /** Aborts when the call must end. */
  signal: AbortSignal;
}

/** By default a tool accepts any input, so that tools with different inputs fit into one list. */
// oxlint-disable-next-line typescript/no-explicit-any -- each tool knows the input that its own schema lets through
export interface Tool<Input = any, Output = unknown> {
  id: string;
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters?: Record<string, unknown>;
  /** Milliseconds; 60 000 where it is left out. */
  timeout?: number;
  /** Ignored: the manifest decides. */
  sandbox?: SandboxMode;
  /** Ignored: the manifest decides. */
  permissions?: ToolPermissions;
  annotations: ToolAnnotations;
  // A method, so that a tool with an input type of its own is assignable to `Tool`.
  execute(input: Input, context: ToolExecuteContext): Promise<Output>;
}

/** The facts about a tool besides its code. */
export interface ToolManifest extends Pick<Tool, 'id' | 'name' | 'description' | 'permissions' | 'annotations'> {
  sandbox: SandboxMode;
  /** Milliseconds. */
  timeout: number;
}

/** A field of the manifest's `configFields`. */
export interface ConfigFieldDescriptor {
  key: string;
  label: string;
  type: 'text' | 'number' | 'password' | 'enum';
  required?: boolean;
  placeholder?: string;
  description?: string;
  /** Choices of an `enum`. */
  options?: { value: string; label: string }[];
}

/** One of the manifest's `envVars`. */
export interface EnvVarDescriptor {
  name: string;
  /** Default true. */
  required?: boolean;
}

export interface PluginConfig {
  /** Always true: a plugin that is disabled is not loaded. */
  enabled: boolean;
  /** By tool: whether its calls ask for approval. */
  requireApproval?: Record<string, boolean>;
  [key: string]: unknown;
}

export interface Alert {
  level: 'info' | 'warning';
  message: string;
}

export interface ResolveToolsContext {
  pluginConfig: PluginConfig;
  env: Record<string, string | undefined>;
}

export interface ResolveToolsResult {
  tools: Tool[];
  alerts?: Alert[];
}
