import type { ContentPart } from '../../contracts/transcript.ts';
import { cleanOutput } from '../../sandbox/output/clean-output.ts';
import { PROTOCOL } from '../../sandbox/protocol/protocol.ts';
import type { CodeResult, CodeValue } from '../../sandbox/api/code.ts';
import { PROBLEMS } from './command-result.ts';

/** A value that is not an image is shown in the first of these forms that it has. */
const TEXT_FORMS = ['text/markdown', 'text/html', 'text/latex', 'image/svg+xml', 'application/json', 'text/plain'];
const { keptCharacters, values: mostValues, valuesBytes } = PROTOCOL.code;
const LIMITS = `${keptCharacters} characters at each end of a stream, ${mostValues} values, ${valuesBytes / 1_000_000} MB of values together`;
const IMAGE_FORMS = ['image/png', 'image/jpeg'];

/** The result of a piece of code as the model reads it: a summary with the output, then each value, images as images. */
export function describeCode(result: CodeResult): { content: ContentPart[]; isError?: boolean } {
  const { status, executionCount, durationMs, error, truncated } = result;
  const summary = {
    status,
    ...(executionCount !== undefined && { executionCount }),
    durationMs,
    ...(result.stdout !== '' && { stdout: cleanOutput(result.stdout) }),
    ...(result.stderr !== '' && { stderr: cleanOutput(result.stderr) }),
    ...(error && { error: error.traceback === '' ? `${error.type}: ${error.message}` : error.traceback }),
    ...(truncated && { truncated, leftOut: describeLeftOut(result) }),
    ...(result.limit !== undefined && { problem: PROBLEMS[result.limit] }),
    ...(status === 'gone' && { note: 'The process ended, and with it all variables of the context.' }),
  };
  return { content: [{ type: 'text', text: JSON.stringify(summary) }, ...result.values.flatMap(describeValue)] };
}

function describeLeftOut({ leftOut, stdoutPath, stderrPath }: CodeResult): string {
  const paths = [stdoutPath, stderrPath].filter((path) => path !== undefined);
  if (paths.length > 0) return `What is left out of the output is in ${paths.join(' and ')}: read it in parts.`;
  const { values = 0, bytes = 0 } = leftOut ?? {};
  const counts = [...(values > 0 ? [`${values} more values`] : []), ...(bytes > 0 ? [`${bytes} more bytes of output and values`] : [])];
  const what = `${counts.length > 0 ? `${counts.join(' and ')}: o` : 'O'}utput or values beyond the limits (${LIMITS})`;
  return `${what} were left out and are kept nowhere. Write them to a file and read it in parts.`;
}

function describeValue(value: CodeValue): ContentPart[] {
  const image = IMAGE_FORMS.find((form) => typeof value[form] === 'string');
  if (image !== undefined) return [{ type: 'image', mediaType: image, data: value[image] as string }];
  const form = TEXT_FORMS.find((name) => value[name] !== undefined);
  if (form === undefined)
    return [{ type: 'text', text: `[a value that cannot be shown; it has only these forms: ${Object.keys(value).join(', ') || 'none'}]` }];
  const shown = value[form];
  return [{ type: 'text', text: typeof shown === 'string' ? shown : JSON.stringify(shown) }];
}
