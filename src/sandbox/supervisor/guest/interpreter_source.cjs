/** Turns JavaScript and TypeScript as users write it into what the console of interpreter.cjs evaluates. */
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const vm = require('node:vm');
const { createRequire } = require('node:module');
const { namedError } = require('./interpreter_output.cjs');

const IMPORT = /^([ \t]*)import\s+(?:([\w$*{}\s,]+?)\s+from\s+)?(['"])([^'"\n]+)\3(?:\s+with\s+\{[^}]*\})?[ \t]*;?/gm;

/** JavaScript without import statements. */
function scriptOf({ language, code }) {
  return rewriteImports(language === 'typescript' ? withoutTypes(code) : code);
}

/** An object literal at the start is a value, as in every console. */
function withValueInFront(code) {
  return /^\s*\{/.test(code) && isExpression(code) ? `(${code.trim().replace(/;+$/, '')})` : code;
}

/** Modules are searched in the working directory of the code. */
function requireHere() {
  return createRequire(path.join(process.cwd(), 'code.js'));
}

function withoutTypes(code) {
  const { status, stdout, stderr, error } = spawnSync('esbuild', ['--loader=ts', '--format=esm', '--target=es2022', '--log-level=error'], {
    input: code,
    encoding: 'utf8',
  });
  if (error) throw namedError('Unsupported', `TypeScript needs esbuild in the sandbox image: ${error.message}`);
  if (status !== 0) throw namedError('SyntaxError', stderr.trim());
  return stdout;
}

function isExpression(code) {
  try {
    void new vm.Script(`(${code.trim().replace(/;+$/, '')}\n)`);
    return true;
  } catch {
    return false;
  }
}

function rewriteImports(code) {
  return code.replace(IMPORT, (_whole, indent, what, _quote, name) => {
    const module = `await import(${JSON.stringify(resolveModule(name))})`;
    if (what === undefined) return `${indent}${module};`;
    const [, first, rest = ''] = /^\s*([\w$]+)?\s*,?\s*([\s\S]*)$/.exec(what) ?? [];
    const parts = [];
    if (first) parts.push(`var ${first} = (${module}).default;`);
    const star = /^\*\s+as\s+([\w$]+)/.exec(rest);
    if (star) parts.push(`var ${star[1]} = ${module};`);
    else if (rest.startsWith('{')) parts.push(`var ${rest.replaceAll(/\s+as\s+/g, ': ')} = ${module};`);
    return indent + parts.join(' ');
  });
}

function resolveModule(name) {
  if (name.startsWith('.')) return `file://${path.resolve(name)}`;
  try {
    const found = requireHere().resolve(name);
    return path.isAbsolute(found) ? `file://${found}` : found;
  } catch {
    return name;
  }
}

module.exports = { requireHere, scriptOf, withValueInFront };
