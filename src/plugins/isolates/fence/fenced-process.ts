import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/** The members of a child process that are used for a process behind a fence. */
export type FencedProcess = Pick<ChildProcessWithoutNullStreams, 'pid' | 'stdin' | 'stdout' | 'stderr' | 'kill' | 'once'>;
