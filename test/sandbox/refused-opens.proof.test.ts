import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeWithGvisor } from './lifecycle/support.ts';
import { LONG_MS, failEverywhere, faults, nothingLeft, open, place, refused, store, useFaults } from './refusals.ts';

useFaults();

describe('a refused openSandbox leaves nothing', () => {
  test('where an option is not valid, or names something that does not exist', async () => {
    await refused(open({ cpus: 0 }), { code: 'INVALID_ARGUMENT' });
    await refused(open({ template: 'none' }), { code: 'TEMPLATE_NOT_FOUND' });
    await refused(open({ image: 'longshore-none:none' }), { code: 'IMAGE_NOT_FOUND' });
    await refused(open({ secrets: { TOKEN: '${env.LONGSHORE_TEST_NOT_SET}' } }), { code: 'CONFIG_INVALID' });
    await refused(open({ assets: [{ from: '/none', to: 'x' }] }), { code: 'ASSETS_FAILED' });
    await refused(open({ assets: [{ from: '/etc/hostname', to: '/proc/none/x' }] }), {});
    await refused(open({ sandboxId: 'sbx_none' }), { code: 'SANDBOX_NOT_FOUND' });
    await refused(open({ backend: 'none' }), { code: 'CONFIG_INVALID' });
    await refused(open({ databaseUrl: 'postgres://none@127.0.0.1:1/none' }), { code: 'POSTGRES_UNAVAILABLE' });
    await nothingLeft('options');
  });

  test(
    'at whichever call engine or database fail',
    async () => {
      let opened: Awaited<ReturnType<typeof open>> | undefined;
      const rejected = await failEverywhere(
        async () => (opened = await open()),
        async () => {
          await opened?.destroy();
          await store.sandboxes.remove(opened?.sandboxId ?? '');
        },
      );
      expect(rejected).toBeGreaterThan(5);
    },
    LONG_MS,
  );

  test('when the certificate for its hosts cannot be made', async () => {
    const home = join(place, 'home');
    await chmod(home, 0o777);
    try {
      await refused(open({ egress: [{ host: 'example.org', headers: { authorization: 'x' } }] }), { code: 'CONFIG_INVALID' });
    } finally {
      await chmod(home, 0o700);
    }
    await nothingLeft('egress');
  });

  test('that was aborted, at whichever call that is', async () => {
    const controller = () => {
      const made = new AbortController();
      return { signal: made.signal, abort: () => made.abort(new Error('the user went away')) };
    };
    const early = controller();
    early.abort();
    await refused(open({ signal: early.signal }), {
      code: 'INTERRUPTED',
      message: expect.stringMatching(/^"openSandbox" was interrupted/),
      cause: { message: 'the user went away' },
    });
    await nothingLeft('aborted before');
    faults.arm();
    const opened = await open();
    const names = [...new Set(faults.calls)];
    await opened.destroy();
    await store.sandboxes.remove(opened.sandboxId);
    for (const name of names) {
      const { signal, abort } = controller();
      faults.onCall = (call) => call === name && abort();
      const from = join(place, 'large');
      await writeFile(from, Buffer.alloc(1_000_000));
      await refused(open({ signal, assets: [{ from, to: 'large' }] }), { code: 'INTERRUPTED' });
      faults.onCall = () => undefined;
      await nothingLeft(`aborted at ${name}`);
    }
    expect(names.length).toBeGreaterThan(5);
  });

  test('when an asset changes into something that cannot be read', async () => {
    const from = join(place, 'asset');
    await writeFile(from, 'x');
    await refused(
      open({
        assets: [
          { from, to: 'a' },
          { from, to: 'a/b' },
        ],
      }),
      {},
    );
    await nothingLeft('assets');
  });
});

describeWithGvisor('in gVisor', () => {
  test(
    'a refused openSandbox leaves nothing, whichever call fails',
    async () => {
      let opened: Awaited<ReturnType<typeof open>> | undefined;
      await failEverywhere(
        async () => (opened = await open({ runtime: 'runsc' })),
        async () => {
          await opened?.destroy();
          await store.sandboxes.remove(opened?.sandboxId ?? '');
        },
      );
    },
    LONG_MS,
  );
});
