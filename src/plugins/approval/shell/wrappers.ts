/** A program that runs its arguments as a command, after its own options. */
export interface Wrapper {
  /** Letters of options that take a value. */
  values?: string;
  /** Long options that take a value as the next word. */
  longValues?: string[];
  /** Number of its own arguments before the command. */
  operands?: number;
  /** `NAME=value` may stand before the command. */
  assigns?: boolean;
  /** It appends arguments that are not known. */
  adds?: boolean;
  /** What it replaces by its input: the mark that an option gives, or anything in braces. */
  replaces?: 'given' | 'braces';
  /** In the value of its `script`, a backslash with a letter is white space. */
  escapes?: boolean;
  /** Option whose value is run by a shell. */
  script?: string;
  /** Joins its arguments and has a shell run them. */
  joins?: boolean;
  /** It does not change what is run: a command that is allowed without it is also allowed with it. */
  isTransparent?: boolean;
}

const SHELL_NAMES = ['bash', 'sh', 'dash', 'ash', 'zsh', 'ksh', 'mksh', 'rbash', 'fish', 'csh', 'tcsh'];
export const SHELLS: ReadonlySet<string> = new Set(SHELL_NAMES);

/** Wrappers with known options. If a use has an unknown option, each of its words is searched as the beginning of the command. */
export const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ['command', { isTransparent: true }],
  ['builtin', { isTransparent: true }],
  ['exec', { values: 'a' }],
  ['nohup', { isTransparent: true }],
  ['time', { values: 'fo', longValues: ['--format', '--output'], isTransparent: true }],
  ['nice', { values: 'n', longValues: ['--adjustment'], isTransparent: true }],
  ['timeout', { values: 'ks', longValues: ['--kill-after', '--signal'], operands: 1, isTransparent: true }],
  ['env', { values: 'uCS', longValues: ['--unset', '--chdir', '--split-string'], assigns: true, script: 'S', escapes: true }],
  ['sudo', { values: 'ugpCcDhRrTtU', longValues: ['--user', '--group', '--prompt', '--chdir', '--host', '--close-from', '--role', '--type'], assigns: true }],
  ['doas', { values: 'uCa' }],
  [
    'xargs',
    {
      values: 'aIdEnPLs',
      longValues: ['--arg-file', '--delimiter', '--max-args', '--max-procs', '--max-chars', '--process-slot-var'],
      adds: true,
      replaces: 'given',
    },
  ],
  ['parallel', { values: 'jaIN', longValues: ['--jobs', '--arg-file', '--max-args'], adds: true, joins: true, replaces: 'braces' }],
  ['stdbuf', { values: 'ioe', longValues: ['--input', '--output', '--error'] }],
  ['setsid', {}],
  ['ionice', { values: 'cnpPu', longValues: ['--class', '--classdata'] }],
  ['chrt', { values: 'TPDp', operands: 1 }],
  ['taskset', { operands: 1 }],
  ['chroot', { longValues: ['--userspec', '--groups'], operands: 1 }],
  ['flock', { values: 'wEc', longValues: ['--wait', '--timeout', '--conflict-exit-code', '--command'], operands: 1, script: 'c' }],
  ['watch', { values: 'nq', longValues: ['--interval', '--equexit'], joins: true }],
  ['su', { values: 'cgGsTw', longValues: ['--command', '--shell', '--group', '--whitelist-environment'], operands: 1, script: 'c' }],
  ['runuser', { values: 'cgGsuTw', longValues: ['--command', '--shell', '--group', '--user'], script: 'c' }],
  ['script', { values: 'cEIOBTmo', longValues: ['--command', '--log-in', '--log-out', '--log-io', '--output-limit'], script: 'c' }],
  ['mapfile', { values: 'dnOsuCc', script: 'C', adds: true }],
  ['readarray', { values: 'dnOsuCc', script: 'C', adds: true }],
  ['compgen', { values: 'oAGWFCXPS', script: 'C', adds: true }],
  ['complete', { values: 'oAGWFCXPS', script: 'C', adds: true }],
]);

/** Other programs that run a command, after options of many kinds: each of their words is searched as the beginning of the command. */
export const LOOSE_WRAPPERS: ReadonlySet<string> = new Set(
  (
    'busybox toybox strace ltrace gdb valgrind perf numactl prlimit setpriv capsh unshare nsenter systemd-run dbus-run-session start-stop-daemon fakeroot proot firejail bwrap ' +
    'unbuffer rlwrap expect entr npx pnpx bunx uvx tsx pkexec cgexec sg newgrp setarch linux32 linux64 i386 x86_64 daemonize chpst ' +
    'envdir softlimit setuidgid torsocks proxychains proxychains4 catchsegv coproc gosu su-exec tini dumb-init xvfb-run eatmydata faketime hyperfine ts-node ssh docker podman kubectl lxc-attach machinectl tmux screen chronic ifne uv poetry pipenv conda mamba direnv nix nix-shell choom coresched uclampset runcon ssh-agent sem aa-exec systemd-inhibit fakechroot bundle pipx cpulimit'
  ).split(' '),
);
