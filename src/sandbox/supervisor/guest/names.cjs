/** The names by which JavaScript calls tools. */

/** A name for a plugin or a tool that can be written in code. */
exports.toName = toName;

/** The functions that need no plugin before them, by their names: what no other plugin has, and `plugin_tool` for all. */
exports.bareNames = (ids) => {
  const found = new Map();
  const twice = new Set();
  for (const id of ids) {
    const [plugin, tool] = id.split(':').map(toName);
    if (found.has(tool)) twice.add(tool);
    found.set(tool, id);
    found.set(`${plugin}_${tool}`, id);
  }
  for (const name of twice) found.delete(name);
  return found;
};

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
