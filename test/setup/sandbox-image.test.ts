import { ensureSandboxImage, sandboxImageState } from '../../src/setup/sandbox-image.ts';
import { runCommand } from '../../src/platform/run-command.ts';

const image = process.env['LONGSHORE_TEST_IMAGE'] ?? '';
const inImage = async (command: string, ...flags: string[]) =>
  (await runCommand('docker', ['run', '--rm', '--network=none', ...flags, image, 'sh', '-c', command])).stdout.trim();

describe('the sandbox image', () => {
  test('an image made from these files is not built again', async () => {
    expect(await sandboxImageState(image, process.env['DOCKER_HOST'])).toBe('current');
    const said: string[] = [];
    expect(await ensureSandboxImage({ image, log: (line) => said.push(line) })).toBe('present');
    expect(said).toEqual([]);
  });

  test('an unknown name is a missing image', async () => {
    expect(await sandboxImageState('longshore-sandbox:never-built', process.env['DOCKER_HOST'])).toBe('missing');
  });

  test('the tools are on board', async () => {
    const tools = 'python3 node npm git curl rg ps socat pytest bash';
    expect(await inImage(`for tool in ${tools}; do command -v $tool >/dev/null || echo "no $tool"; done`)).toBe('');
  });

  test('the guest owns its home, and can read but not change the journal and the supervisor', async () => {
    const tryAll =
      'touch /home/user/x && echo home; ls /home/.longshore >/dev/null && echo journal; touch /home/.longshore/x /opt/longshore/x 2>/dev/null || echo refused; id -u';
    expect(await inImage(tryAll, '--user', '1000')).toBe('home\njournal\nrefused\n1000');
  });

  test('every module of the supervisor is compiled ahead', async () => {
    expect(
      await inImage(
        'cd /opt/longshore && find . -name "*.py" | while read -r file; do ls ${file%/*}/__pycache__/$(basename $file .py).*.pyc >/dev/null || echo $file; done',
      ),
    ).toBe('');
  });
});
