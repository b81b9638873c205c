import { transform } from 'esbuild';

type Rewrite = (script: string) => string;

/** What a compartment refuses to evaluate, wherever it stands: in strings and comments too. */
const REFUSED: [name: string, text: RegExp, rewrite: Rewrite][] = [
  ['import(', /\bimport\s*(?:\(|\/[/*])/, (script) => script.replaceAll(/\bimp(?=ort\s*(?:\(|\/[/*]))/g, String.raw`im\x70`)],
  // The name of a function may end so, and may have that form.
  ['$eval(', /\$eval\s*\(/, (script) => script.replaceAll(/(?<=\$)eva(?=l\s*\()/g, String.raw`ev\u0061`)],
  ['eval(', /(?<![.\w$])eval\s*\(/, (script) => script.replaceAll(/(?<![.\w$])eva(?=l\s*\()/g, String.raw`ev\x61`)],
  ['-->', /-->/, (script) => script.replaceAll(/(?<=--)>/g, String.raw`\x3e`)],
  // A backslash before it is part of it.
  ['<!--', /<!--/, (script) => script.replaceAll(/<(?=!--)/g, (_found, at: number, whole: string) => (isEscaped(whole, at) ? 'x3c' : String.raw`\x3c`))],
];

/** A script in which a compartment finds nothing of that; or what it would find, since it is code. */
export type Evaded = { code: string } | { refused: string };

/**
 * Writes one letter of each such text as its number. In a string, a template and a regular expression that means the same, except to a tag that reads the raw
 * text of its template. In code it is a mistake, which the bundler finds. The time that it takes grows with the length of the script only, and most of it is
 * spent by the bundler: a parser in this process takes seconds for a script of a megabyte.
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
    // Otherwise it is the bundler itself that failed.
    if (error instanceof Error && 'errors' in error) return false;
    throw error;
  }
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}
