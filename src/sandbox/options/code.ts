import type { z } from 'zod';
import type { CodeContext, CodeLanguage, CodeLanguageAlias, RunCodeOptions, SandboxCode } from '../api/code.ts';
import { placeShape, timeoutMs } from './commands.ts';
import { isNot, options, value, type Parameters } from './parse.ts';
import { abortSignal, callback, execId, faultOfCharacters, flag, oneOf, user } from './values.ts';

const LANGUAGES = ['python', 'javascript', 'typescript', 'bash'] as const;
const CONTEXT_ID = /^[A-Za-z0-9_.-]{1,40}$/;
const MAX_CODE_CHARACTERS = 64 * 1024 * 1024;

const code = value<string>((given) => {
  if (typeof given !== 'string') return isNot(given, 'a text of code');
  if (given.length > MAX_CODE_CHARACTERS)
    return { problem: `it has ${given.length} characters`, fix: `Give code of at most ${MAX_CODE_CHARACTERS} characters, and put data into a file` };
  return faultOfCharacters(given);
});
const ALIASES: Record<CodeLanguageAlias, CodeLanguage> = { py: 'python', js: 'javascript', ts: 'typescript', sh: 'bash' };
const language = oneOf([...LANGUAGES, ...(Object.keys(ALIASES) as CodeLanguageAlias[])], 'a language').transform((given) =>
  given in ALIASES ? ALIASES[given as CodeLanguageAlias] : (given as CodeLanguage),
);
const contextId = value<string>((given) => {
  if (typeof given === 'string' && CONTEXT_ID.test(given)) return undefined;
  return isNot(given, 'the id of a context', 'Use up to 40 letters, digits, "_", "." and "-"');
});

const context = options({ language, contextId, user: user.optional() } satisfies Record<keyof CodeContext, z.ZodType>);

export const CODE: Record<keyof SandboxCode, Parameters> = {
  codeContexts: {},
  runCode: {
    code,
    options: options({
      ...placeShape,
      language,
      contextId: contextId.optional(),
      execId: execId.optional(),
      timeoutMs: timeoutMs.optional(),
      signal: abortSignal.optional(),
      onAbort: oneOf(['interrupt', 'detach'], 'a way to abort').optional(),
      onOutput: callback.optional(),
      onResult: callback.optional(),
      onMethodCall: callback.optional(),
      isBegun: flag.optional(),
      asStarted: flag.optional(),
    } satisfies Record<keyof RunCodeOptions, z.ZodType>),
  },
  interruptCode: { context },
  restartCode: { context },
};
