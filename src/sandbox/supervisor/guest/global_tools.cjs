/** Loaded ahead of a program: makes `tools` a global, for programs that do not import it. */
globalThis.tools = require('./longshore.cjs').tools;
