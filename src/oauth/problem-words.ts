import { OAuthError, RegistrationRejectedError } from '@modelcontextprotocol/client';
import { ZodError } from 'zod';
import { isFailure } from '../contracts/errors.ts';
import { tryParseForeign } from '../contracts/foreign-json.ts';
import { isObject } from '../contracts/json.ts';
import { cutMiddle, visibleLine } from '../contracts/visible-text.ts';

const LONGEST = 300;

/**
 * What went wrong with an authorization server, for people and logs. Its own words are left out but for the code of its error: they may repeat what it was sent, such as
 * a token or a secret.
 */
export function problemWords(error: unknown): string {
  if (error instanceof OAuthError) return answersWith(error.code);
  if (error instanceof RegistrationRejectedError) return answersWith(codeIn(error.body) ?? `HTTP ${error.status}`);
  if (error instanceof ZodError || error instanceof SyntaxError) return 'the authorization server answers something that is not what the protocol says';
  const { name, message } = error as Error;
  if (name === 'TimeoutError' || name === 'AbortError') return 'the authorization server does not answer in time';
  return isFailure(error) ? message : cutMiddle(visibleLine(message), LONGEST);
}

function answersWith(code: string): string {
  return `the authorization server answers "${visibleLine(code.slice(0, 60))}"`;
}

function codeIn(body: string): string | undefined {
  const said = tryParseForeign(body);
  return isObject(said) && typeof said['error'] === 'string' ? said['error'] : undefined;
}
