/** How a worker is authorized at a server: each user signs in, or the worker has credentials of its own. */
export type McpOAuth = McpUserOAuth | McpWorkerOAuth;
export interface McpUserOAuth {
  as: 'user';
  /** What the operator has registered; absent: it is registered when it is needed. */
  clientId?: string;
  clientSecret?: string;
  /** The only authorization server that is accepted. */
  issuer?: string;
  scope?: string;
}
export interface McpWorkerOAuth {
  as: 'worker';
  clientId: string;
  clientSecret?: string;
  /** PKCS#8 in PEM, in place of a secret, and the algorithm that it signs with. */
  privateKey?: string;
  algorithm?: string;
  issuer: string;
  scope?: string;
}
