import { failure } from '../../../contracts/errors.ts';
import { asUser } from '../../protocol/as-user.ts';
import type { CodeContext, CodeContextInfo, CodeLanguage } from '../../api/code.ts';

const CONTEXT_ID = /^[A-Za-z0-9_.-]{1,40}$/;
const CONTEXT_EXEC = /^code-(python|javascript)-([^:]+)(?::(.+))?$/;

/** Id of the exec that is the process of a context. */
export function contextExec(context: CodeContext): string {
  const { user } = asUser(context.user);
  return `code-${contextName(context)}${user === undefined ? '' : `:${user}`}`;
}

/** The context whose process an exec is; undefined for every other exec. */
export function contextInfo({ execId, startedAt }: { execId: string; startedAt: string }): CodeContextInfo | undefined {
  const [, language, contextId, user] = CONTEXT_EXEC.exec(execId) ?? [];
  if (contextId === undefined) return undefined;
  return { language: language === 'python' ? 'python' : 'javascript', contextId, ...(user !== undefined && { user }), startedAt };
}

/** The context whose process an exec is, as a text; undefined for every other exec. */
export function contextOfExec(execId: string): string | undefined {
  const [, program, contextId, user] = CONTEXT_EXEC.exec(execId) ?? [];
  if (program === undefined) return undefined;
  return `"${contextId}" (${program}${user === undefined ? '' : `, of ${user}`})`;
}

/** Name of a context inside the sandbox, unique among those of its user. */
export function contextName({ language, contextId }: CodeContext): string {
  if (!CONTEXT_ID.test(contextId)) {
    throw failure('INVALID_ARGUMENT', { what: 'contextId', problem: JSON.stringify(contextId), fix: 'Use up to 40 letters, digits, "_", "." and "-"' });
  }
  return `${programOf(language)}-${contextId}`;
}

export function programOf(language: CodeLanguage): 'python' | 'javascript' {
  if (language === 'python') return 'python';
  if (language === 'javascript' || language === 'typescript') return 'javascript';
  throw failure('INVALID_ARGUMENT', {
    what: 'language',
    problem: `${JSON.stringify(language)} has no contexts or is not known`,
    fix: 'Use python, javascript or typescript; bash without contextId',
  });
}
