/** Says why a schema cannot be used, from the error that its engine threw. */
export function reasonOf(error: Error): string {
  const missing = /(?:can't resolve reference|Could not resolve \$(?:dynamic|recursive)?[rR]ef) '?([^\s']+)'?/.exec(error.message.slice(0, 500))?.[1];
  if (missing !== undefined) return `it refers to "${missing}", which is not in it; references to other documents are not fetched, put what they name under "$defs"`;
  if (error instanceof RangeError) return `its references go in a circle, or it is too deep to be compiled (${error.message})`;
  return error.message;
}
