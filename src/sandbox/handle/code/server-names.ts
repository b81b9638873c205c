const SERVER_EXEC = /^mcp-/;

/** The exec that keeps an MCP server. */
export function serverExec(name: string): string {
  return `mcp-${name}`;
}

export function isServerExec(execId: string): boolean {
  return SERVER_EXEC.test(execId);
}

/** The name of the MCP server that an exec keeps; undefined for every other one. */
export function serverOfExec(execId: string): string | undefined {
  return isServerExec(execId) ? execId.replace(SERVER_EXEC, '') : undefined;
}
