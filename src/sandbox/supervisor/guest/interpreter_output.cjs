/** Reports what JavaScript code prints, returns and throws, see interpreter.cjs. */
const util = require('node:util');

const { partCharacters: MAX_PART, toldBytes: MAX_TOLD } = require('../protocol.json').code;
/** Characters of each part of an error. The end of the code is always reported, in one line, however each character is written there. */
const MAX_ERROR = 1_000_000;
const RICH = [
  ['text/html', 'toHTML'],
  ['text/markdown', 'toMarkdown'],
  ['image/svg+xml', 'toSVG'],
  ['image/png', 'toPNG'],
];

/** Reports output, results and end of one piece of code, up to a limit. `write` receives each line without its line break. */
class Teller {
  /** Whether something was left out or cut. */
  cut = false;
  /** Characters of what was left out. */
  untold = 0;
  #left = MAX_TOLD;
  #write;

  constructor(write) {
    this.#write = write;
  }

  tell(type, fields) {
    const size = JSON.stringify(fields).length;
    this.#left -= size;
    // The end is always reported.
    if (this.#left >= 0 || type === 'started' || type === 'ended') this.#write(JSON.stringify({ type, ...fields }));
    else {
      this.cut = true;
      this.untold += size;
    }
  }

  show(value) {
    if (value === undefined) return;
    const data = { 'text/plain': this.#shortened(inspect(value)) };
    if (isPlain(value)) this.#add(data, 'application/json', () => JSON.parse(JSON.stringify(value)));
    for (const [mime, method] of RICH) {
      if (typeof value?.[method] === 'function') this.#add(data, mime, () => portable(value[method]()));
    }
    this.tell('result', { data });
  }

  #shortened(text) {
    this.cut ||= text.length > MAX_PART;
    return text.slice(0, MAX_PART);
  }

  #add(data, mime, make) {
    try {
      const part = make();
      if (part === undefined) return;
      if ((typeof part === 'string' ? part : JSON.stringify(part)).length <= MAX_PART) data[mime] = part;
      else this.cut = true;
    } catch {
      // A value that cannot be shown in this form may have others.
    }
  }
}

/** What the code threw, cut in the middle where it is too long; and whether it was cut. */
function describe(problem) {
  const error = described(problem);
  const cut = Object.keys(error).filter((name) => error[name].length > MAX_ERROR);
  for (const name of cut) {
    const half = MAX_ERROR / 2;
    error[name] = `${error[name].slice(0, half)}\n… ${error[name].length - 2 * half} characters left out …\n${error[name].slice(-half)}`;
  }
  return { error, cut: cut.length > 0 };
}

function described(problem) {
  if (util.types.isNativeError(problem) || typeof problem?.message === 'string') {
    const isInterrupt = problem.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' || problem.name === 'Interrupted';
    const stack = String(problem.stack ?? problem.message).split('\n');
    return {
      type: isInterrupt ? 'Interrupted' : String(problem.name ?? 'Error'),
      message: String(problem.message),
      traceback: stack.filter((line) => !/^\s+at .*(node:|interpreter\w*\.cjs|new Promise \(<anonymous>\))/.test(line)).join('\n'),
    };
  }
  return { type: 'Error', message: inspect(problem), traceback: inspect(problem) };
}

function namedError(name, message) {
  return Object.assign(new Error(message), { name });
}

function isPlain(value) {
  if (value === null || typeof value !== 'object') return false;
  return Array.isArray(value) || [null, 'Object'].includes(Object.getPrototypeOf(value)?.constructor?.name ?? null);
}

function inspect(value) {
  try {
    return typeof value === 'string' ? value : util.inspect(value);
  } catch (error) {
    return `<value that cannot be shown: ${String(error)}>`;
  }
}

function portable(part) {
  return part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part;
}

module.exports = { Teller, describe, namedError };
