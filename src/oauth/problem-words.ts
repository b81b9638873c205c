import { OAuthError } from '@modelcontextprotocol/client';
import { ZodError } from 'zod';
import { isFailure } from '../contracts/errors.ts';
import { cutMiddle, visibleLine } from '../contracts/visible-text.ts';

const LONGEST = 300;

/**
 * What went wrong with an authorization server, for people and logs. Its own words are left out but for the code of its error: they may repeat what it was sent, such as
 * a token or a secret.
 */
export function problemWords(error: unknown): string {
  if (error instanceof OAuthError) return `the authorization server answers "${visibleLine(error.code.slice(0, 60))}"`;
  if (error instanceof ZodError || error instanceof SyntaxError) return 'the authorization server answers something that is not what the protocol says';
  const { name, message } = error as Error;
  if (name === 'TimeoutError' || name === 'AbortError') return 'the authorization server does not answer in time';
  return isFailure(error) ? message : cutMiddle(visibleLine(message), LONGEST);
}
