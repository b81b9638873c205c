import { transform } from 'esbuild';

type Rewrite = (script: string) => string;

/** Texts that make a compartment refuse to evaluate a script, also in strings and comments. */
const REFUSED: [name: string, text: RegExp, rewrite: Rewrite][] = [
  ['import(', /\bimport\s*(?:\(|\/[/*])/, (script) => script.replaceAll(/\bimp(?=ort\s*(?:\(|\/[/*]))/g, String.raw`im\x70`)],
  // `$eval` may be the end of a function's name, and a name may contain `\u0061`, but not `\x61`.
  ['$eval(', /\$eval\s*\(/, (script) => script.replaceAll(/(?<=\$)eva(?=l\s*\()/g, String.raw`ev\u0061`)],
  ['eval(', /(?<![.\w$])eval\s*\(/, (script) => script.replaceAll(/(?<![.\w$])eva(?=l\s*\()/g, String.raw`ev\x61`)],
  ['-->', /-->/, (script) => script.replaceAll(/(?<=--)>/g, String.raw`\x3e`)],
  // A backslash before `<` is used for the escape.
  ['<!--', /<!--/, (script) => script.replaceAll(/<(?=!--)/g, (_found, at: number, whole: string) => (isEscaped(whole, at) ? 'x3c' : String.raw`\x3c`))],
];

/** The script without such texts; or the name of one that cannot be rewritten, because it is code. */
export type Evaded = { code: string } | { refused: string };

/**
 * Writes one character of each such text as an escape. In a string, a template and a regular expression this means the same, except to a tag that reads the
 * raw text of its template. In code it is a syntax error, which the bundler finds. The time depends only on the length of the script, and most of it is spent
 * in the bundler's process: a parser in this process takes seconds for a script of a megabyte.
 */
export async function evadeCensor(script: string): Promise<Evaded> {
  let code = script;
  for (const [name, text, rewrite] of REFUSED) {
    if (!text.test(code)) continue;
    code = rewrite(code);
    // oxlint-disable-next-line no-await-in-loop -- the first that is code is the answer
    if (!(await isScript(code))) return { refused: name };
  }
  return { code };
}

async function isScript(code: string): Promise<boolean> {
  try {
    await transform(code, { loader: 'js', logLevel: 'silent', tsconfigRaw: '{}' });
    return true;
  } catch (error) {
    // An error without `errors` is a failure of the bundler itself.
    if (error instanceof Error && 'errors' in error) return false;
    throw error;
  }
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}
