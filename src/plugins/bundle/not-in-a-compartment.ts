/** What to use instead of a module of Node, by its name without `node:`. */
const INSTEAD_OF_MODULES: Record<string, string> = {
  fs: 'readFile(path) with permissions.fs, or context.files',
  'fs/promises': 'readFile(path) with permissions.fs, or context.files',
  http: 'context.fetch with permissions.network',
  https: 'context.fetch with permissions.network',
  net: 'context.fetch with permissions.network',
  tls: 'context.fetch with permissions.network',
  dns: 'context.fetch with permissions.network',
  child_process: 'context.sandbox.exec',
  process: 'context.env with permissions.env',
  os: 'context.env with permissions.env',
  timers: 'the global setTimeout and setInterval',
  url: 'the global URL',
  util: 'the global TextEncoder and TextDecoder',
  buffer: 'Uint8Array, atob and btoa',
};

/** The same for global names. They are undefined in a compartment, and the error that this causes does not always name them. */
const INSTEAD_OF_NAMES: Record<string, string> = {
  process: 'context.env with permissions.env',
  Buffer: 'Uint8Array, atob and btoa',
  global: 'globalThis',
  crypto: 'nothing, as there is no randomness for cryptography',
  performance: 'Date.now() with permissions.time',
  structuredClone: 'JSON.parse(JSON.stringify(value))',
};
const ASK_FOR_HOST = 'Correct it, or ask the operator to load this plugin with isolation host';
const RUN_ELSEWHERE = 'Correct it, give the tools that need it isolation container, or ask the operator to load this plugin with isolation host';

const ABSENT = 'does not exist in a compartment';

/** The message for an import of a module of Node. */
export function absentModule(path: string): string {
  const instead = INSTEAD_OF_MODULES[path.replace(/^node:/, '')];
  return `"${path}" ${ABSENT}${instead ? `; use ${instead}` : ''}`;
}

/** Why something cannot be bundled, and what to do about it. */
export interface BundleRefusal {
  problem: string;
  fix: string;
}

const REFUSALS: [pattern: RegExp, refusal: (found: string) => BundleRefusal][] = [
  [/^Could not resolve "([./][^"]*)"/, (path) => ({ problem: `there is no "${path}"`, fix: 'Correct the path' })],
  [/^Could not resolve "([^"]*)"/, (name) => ({ problem: `"${name}" is not installed`, fix: `Install it beside the plugin: npm install ${name}` })],
  [/^Top-level await/, () => ({ problem: 'await does not work outside of functions', fix: "Await it in the tool, or in the plugin's load" })],
  [
    /^No loader is configured for "\.node" files: (.*)/,
    (file) => ({ problem: `${file} is native code, which does not run in a compartment`, fix: ASK_FOR_HOST }),
  ],
  [
    /^No loader is configured for "\.wasm" files: (.*)/,
    (file) => ({ problem: `${file} is WebAssembly, which a compartment does not have`, fix: ASK_FOR_HOST }),
  ],
  [
    /^(?:No loader is configured for .* files: |Cannot import ")([^"]*)/,
    (file) => ({ problem: `${file} cannot be imported`, fix: 'Import TypeScript, JavaScript and JSON only' }),
  ],
];

/** Translates a known message of the bundler into terms of plugins. */
export function bundleRefusalOf(text: string): BundleRefusal {
  for (const [pattern, refusal] of REFUSALS) {
    const found = pattern.exec(text);
    if (found) return refusal(found[1] ?? '');
  }
  return { problem: text, fix: text.includes(ABSENT) ? RUN_ELSEWHERE : 'Correct it' };
}

/** Which global name of Node was missing when `code` failed with `message`, and what to use instead; empty if no such name is found. */
export function whatWasMissed(message: string, code: string): string {
  const property = /^Cannot read properties of undefined \(reading '(\w+)'\)$/.exec(message)?.[1];
  const missed = Object.entries(INSTEAD_OF_NAMES).find(
    ([name]) => message.startsWith(`${name} is not `) || (property !== undefined && new RegExp(`(?<![.\\w$])${name}\\.${property}\\b`).test(code)),
  );
  return missed ? `; ${missed[0]} ${ABSENT}, use ${missed[1]}` : '';
}
