/** The names by which JavaScript calls tools. */

/** A name for a plugin or a tool that can be written in code. */
exports.toName = toName;

/**
 * The ids that each name without a plugin before it may mean: tools by their own name, and by `plugin_tool`. Where a method is documented by its own
 * name (`bare`), the name means it.
 */
exports.bareNames = (specs) => {
  const found = new Map();
  const preferred = new Map();
  for (const { id, bare } of specs) {
    const [plugin, tool] = id.split(':').map(toName);
    for (const name of [tool, `${plugin}_${tool}`]) found.set(name, [...(found.get(name) ?? []), id]);
    if (bare) preferred.set(tool, [...(preferred.get(tool) ?? []), id]);
  }
  return new Map([...found, ...preferred]);
};

/** The error of a name that several tools have. */
exports.ambiguity = ambiguity;

/** Stands for such a name. It throws when it is called, not when it is read: `typeof` a name never throws. */
exports.ambiguous = (name, ids) => {
  const refuse = () => {
    throw new ReferenceError(ambiguity(name, ids));
  };
  placeholders.add(refuse);
  return refuse;
};

exports.isAmbiguous = (value) => placeholders.has(value);

const placeholders = new WeakSet();

function ambiguity(name, ids) {
  return `${name} is ambiguous, it could be any of ${ids.join(', ')}; call ${ids.map((id) => `tools['${id}'](…)`).join(' or ')}`;
}

const KEYWORDS =
  'async await break case catch class const continue debugger default delete do else export extends false finally for from function get if import in ' +
  'instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield';
const PASSED_OVER = new Set(KEYWORDS.split(' '));
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\/\*[\s\S]*?\*\/|\/\/.*/g;

/** Every name that a piece of code may use; more than it really uses, never fewer. */
exports.namesIn = (code) => {
  const found = code.replaceAll(STRING_OR_COMMENT, ' ').match(/(?<![.\p{L}\p{N}_$])[\p{L}_$][\p{L}\p{N}_$]*/gu);
  return [...new Set(found)].filter((name) => !PASSED_OVER.has(name));
};

function toName(text) {
  return text.replaceAll(/[^\p{L}\p{N}_$]/gu, '_');
}
