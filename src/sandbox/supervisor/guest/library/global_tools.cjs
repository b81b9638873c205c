/**
 * Loaded ahead of a program: defines the global `tools`, and a global for every tool under its own name. The list of names is requested when the program uses
 * an undefined name: the engine looks it up in the prototype of the global object.
 */
const { spawnSync } = require('node:child_process');
const { tools } = require('./longshore.cjs');
const { ambiguous, bareNames } = require('./names.cjs');

const MAX_LIST_BYTES = 4_000_000;
let names;

/** The lookup of a name is synchronous, so another process asks for the list. */
function listNames() {
  const list =
    'require(process.argv[1]).describeTools().then((specs) => process.stdout.write(JSON.stringify(specs.map(({ id, bare }) => ({ id, bare })))), () => undefined)';
  const { stdout } = spawnSync(process.execPath, ['--eval', list, require.resolve('./longshore.cjs')], { encoding: 'utf8', maxBuffer: MAX_LIST_BYTES });
  const meant = stdout ? [...bareNames(JSON.parse(stdout))] : [];
  return new Map(meant.map(([name, ids]) => [name, ids.length > 1 ? ambiguous(name, ids) : tools[name]]));
}

function isTool(name) {
  if (typeof name !== 'string' || !process.env.LONGSHORE_TOOLS) return false;
  names ??= listNames();
  return names.has(name);
}

globalThis.tools = tools;
const inherited = Object.getPrototypeOf(globalThis);
Object.setPrototypeOf(
  inherited,
  new Proxy(Object.create(Object.getPrototypeOf(inherited)), {
    has: (target, name) => Reflect.has(target, name) || isTool(name),
    // A read of a property of the global object requests nothing: many libraries look there for optional features.
    get: (target, name, receiver) => (names?.has(name) ? names.get(name) : Reflect.get(target, name, receiver)),
  }),
);
