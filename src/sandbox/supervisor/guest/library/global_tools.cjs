/**
 * Loaded ahead of a program: makes `tools` a global, and every tool one under its own name. Which names there are is asked for when the program uses one
 * that nothing else has: the engine looks it up in what the global object inherits.
 */
const { spawnSync } = require('node:child_process');
const { tools } = require('./longshore.cjs');
const { ambiguous, bareNames } = require('./names.cjs');

const MAX_LIST_BYTES = 4_000_000;
let names;

/** A lookup of a name cannot wait, so that somebody else has to. */
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
    // Reading a property of the global object asks for nothing: much of what others write looks there for what may be missing.
    get: (target, name, receiver) => (names?.has(name) ? names.get(name) : Reflect.get(target, name, receiver)),
  }),
);
