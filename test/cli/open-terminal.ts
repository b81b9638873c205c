import { spawn } from 'node:child_process';
import { builtCommandLine } from '../support/built-programs.ts';

/** Runs the command line in a terminal of 31 lines and 97 columns, as a person would. */
export async function openTerminal(args: string[]) {
  const program = `
import fcntl, os, pty, select, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 31, 97, 0, 0))
inputs = [0, terminal]
while terminal in inputs:
    for ready in select.select(inputs, [], [])[0]:
        try:
            data = os.read(ready, 65536)
        except OSError:
            data = b''
        if not data:
            inputs.remove(ready)
        else:
            os.write(terminal if ready == 0 else 1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
  const child = spawn('python3', ['-c', program, process.execPath, await builtCommandLine(), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env },
  });
  let shown = '';
  let wake = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    wake();
  });
  let seen = 0;
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    ended,
    shown: () => shown,
    type: (text: string) => void child.stdin.write(text),
    close: () => void child.kill('SIGKILL'),
    async until(text: string) {
      while (!shown.includes(text, seen)) {
        const over = await Promise.race([new Promise<false>((resolve) => (wake = () => resolve(false))), ended.then(() => true)]);
        if (over && !shown.includes(text, seen)) throw new Error(`the terminal ended without "${text}": ${shown}`);
      }
      seen = shown.indexOf(text, seen) + text.length;
    },
  };
}
