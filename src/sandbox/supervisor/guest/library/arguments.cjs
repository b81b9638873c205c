/** Turns what code gives a tool into the arguments of a call. Values may come from another realm, where `instanceof` knows none of them. */
const { types } = require('node:util');

const LARGEST_EXACT = Number.MAX_SAFE_INTEGER;

/**
 * One object is the arguments by their names; anything else is taken in the order of the tool's parameters, required ones first.
 * @throws TypeError that says what does not fit.
 */
exports.argumentsOf = ({ id, parameters }, given) => {
  if (given.length === 0) return {};
  if (given.length === 1 && isPlain(given[0])) return given[0];
  const { properties = {}, required = [] } = parameters ?? {};
  const names = Object.keys(properties);
  const ordered = [...names.filter((name) => required.includes(name)), ...names.filter((name) => !required.includes(name))];
  if (given.length > ordered.length) {
    const takes = ordered.length === 0 ? 'none in order' : `${ordered.length} at most: ${ordered.join(', ')}`;
    throw new TypeError(`${id} was given ${given.length} arguments, and takes ${takes}. Pass one object with the arguments by their names`);
  }
  return Object.fromEntries(given.map((value, index) => [ordered[index], value]));
};

/** What is wrong with the first part that JSON cannot carry as it is, with the way to it; undefined where nothing is. */
exports.problemOf = problemOf;

function problemOf(value, path = '', above = []) {
  switch (typeof value) {
    case 'string':
      return problemOfText(value, path);
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${path}: JSON has no ${value}; pass null or a text`;
    case 'bigint':
      return `${path}: JSON has no BigInt; pass ${isExact(value) ? 'Number(it)' : 'it as a text, since numbers beyond 2 ** 53 are not kept exactly'}`;
    case 'undefined':
      return `${path}: JSON has no undefined; pass null`;
    case 'object':
      return value === null ? undefined : problemOfObject(value, path, above);
    default:
      return `${path}: JSON has no ${typeof value}`;
  }
}

function problemOfText(text, path, what = '') {
  const half = text.search(/\p{Surrogate}/u);
  if (half >= 0) return `${path}: half a character at ${half}${what}, which is no text`;
  // Postgres keeps no text with NUL.
  const nul = text.indexOf('\0');
  return nul < 0 ? undefined : `${path}: a NUL character at ${nul}${what}, which no call can carry; leave it out, or pass the path of a file`;
}

function problemOfObject(value, path, above) {
  if (above.includes(value)) return `${path}: it contains itself`;
  const advice = adviceOn(value);
  if (advice) return `${path}: ${value.constructor.name} is no JSON; ${advice}`;
  const written = typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (typeof written !== 'object' || written === null) return problemOf(written, path);
  // A property that is undefined was left out, as everywhere in JavaScript.
  const parts = Array.isArray(written) ? [...written.entries()] : Object.entries(written).filter(([, part]) => part !== undefined);
  for (const [name, part] of parts) {
    const problem = (typeof name === 'string' && problemOfText(name, path, ' of a name')) || problemOf(part, `${path}/${name}`, [...above, value]);
    if (problem) return problem;
  }
  return undefined;
}

const isExact = (value) => value <= LARGEST_EXACT && value >= -LARGEST_EXACT;

function adviceOn(value) {
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return "pass Buffer.from(it).toString('base64'), or the path of a file";
  if (types.isMap(value)) return 'pass Object.fromEntries(it)';
  if (types.isSet(value)) return 'pass [...it]';
  if (types.isPromise(value)) return 'await it first';
  return undefined;
}

function isPlain(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
