/** An MCP server at which users sign in, or a worker does. */
export interface ProtectedServer {
  /** As agents write it. */
  name: string;
  /** Normalized, without a fragment. */
  url: string;
  /** The only authorization server that is accepted, where the operator names it. */
  issuer?: string;
  /** What the operator has registered there. Absent: it is registered when it is needed. */
  client?: { id: string; secret?: string };
  /** What is asked for where the server does not say what a request needs. */
  scope?: string;
}

/** What a server says when it refuses a request: its header `WWW-Authenticate`. */
export interface Challenge {
  /** `token`: there is none, or a wrong one. `scope`: it does not allow enough. */
  lacks: 'token' | 'scope';
  scope?: string;
  resourceMetadataUrl?: URL;
}
