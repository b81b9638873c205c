/** The types that Pandora plugins import from `@pandorakit/sdk/tools`. They are types alone, so that importing them brings nothing along. */

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

export interface ToolLogger {
  log(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

export interface ToolExecuteContext {
  /** The variables that the manifest's permissions name. */
  env: Record<string, string | undefined>;
  logger: ToolLogger;
  /** Aborts when the call is to end. */
  signal: AbortSignal;
}

export interface Tool {
  id: string;
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters?: Record<string, unknown>;
  /** Milliseconds; 60 000 where it is left out. */
  timeout?: number;
  /** What the manifest says counts. */
  sandbox?: SandboxMode;
  /** What the manifest says counts. */
  permissions?: ToolPermissions;
  annotations: ToolAnnotations;
  // A method, so that tools may say what input they expect.
  // oxlint-disable-next-line typescript/no-explicit-any -- each tool knows the input that its own schema lets through
  execute(input: any, context: ToolExecuteContext): Promise<unknown>;
}

export type PluginConfig = Record<string, unknown>;

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
