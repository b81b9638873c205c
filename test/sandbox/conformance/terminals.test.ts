import type { Pty } from '../../../src/sandbox/api/terminals.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS } from './backends.ts';
import { handle, useSandbox } from './sandbox.ts';

describe.each(BACKENDS)('a terminal on %s', (_name, open) => {
  useSandbox(open);

  test('is one, takes input, is resized, and tells its end', async () => {
    const screen = new Screen();
    const pty = await handle.openPty({
      command: 'trap "stty size" WINCH; tty; stty size; while read line; do echo "got $line"; [ "$line" = end ] && exit 4; done',
      columns: 90,
      rows: 20,
      onData: screen.take,
    });
    await screen.shows(/\/dev\/pts\/\d+\r\n20 90\r\n/);
    await pty.resize({ columns: 100, rows: 30 });
    await pty.write('hello\r');
    await screen.shows(/got hello/);
    await screen.shows(/30 100/);
    await pty.write('end\r');
    expect(await pty.ended).toEqual({ status: 'exited', exitCode: 4 });
  });

  test('lives on when it is detached, and continues where it was left', async () => {
    const first = new Screen();
    const pty: Pty = await handle.openPty({ command: 'echo one; read line; echo two; read line', onData: first.take });
    await first.shows(/one\r\n/);
    pty.detach();
    await expect(pty.ended).rejects.toMatchObject({ code: 'DETACHED' });
    const second = new Screen();
    const again = await handle.attachPty(pty.ptyId, { from: pty.offset, onData: second.take });
    await again.write('\r');
    await second.shows(/two\r\n/);
    expect(second.text).not.toContain('one');
    await again.kill();
    expect(await again.ended).toMatchObject({ status: 'killed' });
  });
});

class Screen {
  text = '';
  readonly take = (chunk: Buffer): void => void (this.text += chunk.toString());

  shows(what: RegExp): Promise<void> {
    return until(async () => what.test(this.text), `${what} on the screen`);
  }
}
