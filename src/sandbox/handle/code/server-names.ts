const SERVER_EXEC = /^mcp-/;

/** Id of the exec that runs an MCP server. */
export function serverExec(name: string): string {
  return `mcp-${name}`;
}

export function isServerExec(execId: string): boolean {
  return SERVER_EXEC.test(execId);
}

/** Name of the MCP server that an exec runs; undefined for every other exec. */
export function serverOfExec(execId: string): string | undefined {
  return isServerExec(execId) ? execId.replace(SERVER_EXEC, '') : undefined;
}
