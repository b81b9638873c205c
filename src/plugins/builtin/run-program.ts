import { z } from 'zod';
import { shellQuoted } from '../../common/shell-quoted.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { ToolSandbox } from '../api/define-plugin.ts';

const TIMEOUT_MS = 60_000;
/** Far more than a program answers; prevents a hostile program from filling the worker's memory. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Runs before every program. Arguments come as JSON on stdin, the answer is one JSON object, and refusals are values that name the path. To load Python's
 * json and to shut down the interpreter normally would take as long as all the rest. So it uses the C core of json directly (json itself if that fails), and
 * ends with `os._exit`.
 */
const PRELUDE = `
import errno, os, stat, sys
MAX_FILE_BYTES = 50_000_000

class Scanning:
    strict, memo = True, {}
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float

def parse(text):
    try:
        import _json
        return _json.make_scanner(Scanning)(text, 0)[0]
    except Exception:
        import json
        return json.loads(text)

def render(value):
    try:
        import _json
        return ''.join(_json.make_encoder(None, None, _json.encode_basestring_ascii, None, ': ', ', ', False, False, True)(value, 0))
    except Exception:
        import json
        return json.dumps(value)

def end(value):
    print(render(value), flush=True)
    os._exit(0)

def answer(**result):
    end({'ok': result})

def refuse(problem):
    end({'problem': problem})

def refuse_error(path, error):
    known = {errno.ENOENT: 'no such file or directory', errno.EISDIR: 'is a directory', errno.ENOTDIR: 'a part of the path is not a directory',
             errno.EACCES: 'permission denied', errno.EROFS: 'this part of the file system is read-only; write below /home/user or /tmp',
             errno.ENOSPC: 'no space is left', errno.ELOOP: 'too many links', errno.ENAMETOOLONG: 'the name is too long'}
    refuse(path + ': ' + known.get(error.errno, error.strerror or str(error)))

def shown(name):
    """A name as it is, or quoted with escapes where a part of it would not be seen, or would look like another line."""
    name = os.fsencode(name).decode(errors='backslashreplace')
    return name if name.isprintable() else repr(name)

def read_text(path):
    try:
        # A pipe or a device would make the read wait for ever.
        if not os.path.isdir(path) and os.path.exists(path) and not os.path.isfile(path):
            refuse(path + ': is not a regular file')
        with open(path, 'rb') as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        refuse_error(path, error)
    if len(data) > MAX_FILE_BYTES:
        refuse(path + ': is larger than 50 MB; use shell:run with head, sed or rg')
    if b'\\0' in data[:8192]:
        refuse(path + ': is a binary file of ' + str(len(data)) + ' bytes; use shell:run with a tool that knows it')
    return data

def write_atomically(path, data):
    try:
        target = os.path.realpath(path)
        if os.path.isdir(target):
            refuse(path + ': is a directory')
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o644
        beside = os.path.join(os.path.dirname(target), '.' + os.path.basename(target)[:200] + '.new' + str(os.getpid()))
        try:
            with open(beside, 'wb') as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(beside, target)
        except OSError:
            if os.path.exists(beside):
                os.unlink(beside)
            raise
    except OSError as error:
        refuse_error(path, error)

arguments = parse(sys.stdin.read())
`;

/** A refusal of a program: an expected outcome that the tool turns into an error result. */
export class Refusal extends Error {}

/**
 * Runs a Python program in the sandbox, once for this call, and returns its answer. It runs as the sandbox's user, so that links and paths reach only what
 * that user may access. The answer is checked, because the guest may have changed the programs that run there.
 * @throws Refusal with a text for the model when the program refused.
 */
export async function runProgram<Answer>(sandbox: ToolSandbox, program: string, input: JsonObject, answer: z.ZodType<Answer>): Promise<Answer> {
  const result = await sandbox.exec(`exec python3 -I -S -c ${shellQuoted(PRELUDE + program)}`, {
    stdin: JSON.stringify(input),
    timeoutMs: TIMEOUT_MS,
    quiet: true,
  });
  if (result.status !== 'exited' || result.exitCode !== 0) {
    const ending = result.status === 'exited' ? `exit code ${result.exitCode}` : result.status;
    throw failed(`${ending}: ${cutMiddle(result.stderr.text.trim(), 500)}`);
  }
  const text = result.stdout.truncated ? await readWhole(sandbox, result.stdout.path) : result.stdout.text;
  const parsed = z.union([z.object({ ok: answer }), z.object({ problem: z.string() })]).safeParse(tryParseForeign(text));
  if (!parsed.success) throw failed(`it answered ${JSON.stringify(cutMiddle(text, 200))}`);
  if ('problem' in parsed.data) throw new Refusal(parsed.data.problem);
  return parsed.data.ok;
}

function failed(problem: string): Error {
  return failure('TOOL_FAILED', { tool: 'The program in the sandbox', problem });
}

async function readWhole(sandbox: ToolSandbox, path: string): Promise<string> {
  const handle = await sandbox.handle();
  return (await handle.readFile(path, { maxBytes: MAX_ANSWER_BYTES })).toString();
}
