import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import type { Authorization } from './find-authorization.ts';

/** What a sign-in needs, as JSON. */
export interface PreparedSignIn {
  authorization: Authorization;
  client: OAuthClientInformationMixed;
  scope?: string;
  /** The authorization server that the operator names. */
  namedIssuer?: string;
  /** Where people reach the HTTP service; authorization servers send them back there. */
  publicUrl: string;
}

/** A server refuses a request until a user has signed in, or has allowed more. */
export class SignInNeeded extends Error {
  override readonly name = 'SignInNeeded';
  /** Loggers write the other fields of an error. */
  readonly #prepared: PreparedSignIn;

  constructor(prepared: PreparedSignIn) {
    super('the user has to sign in first');
    this.#prepared = prepared;
  }

  get prepared(): PreparedSignIn {
    return this.#prepared;
  }
}

/** It may be the cause of another error. */
export function signInNeededIn(error: unknown): SignInNeeded | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof SignInNeeded) return at;
  return undefined;
}
