/** True for an error of this machine's operating system. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return typeof error === 'object' && error !== null && 'syscall' in error && 'message' in error;
}
