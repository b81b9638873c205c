const SERVER_EXEC = /^mcp-/;

/** The exec that keeps an MCP server. */
export function serverExec(name: string): string {
  return `mcp-${name}`;
}

export function isServerExec(execId: string): boolean {
  return SERVER_EXEC.test(execId);
}
