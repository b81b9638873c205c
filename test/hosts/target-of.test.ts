import { targetOfRow } from '../../src/hosts/client/target-of.ts';
import type { SandboxRow } from '../../src/store/sandbox-rows.ts';

const OWNER = { conversationId: 'conv_1', tenantId: 'acme' };

test('a sandbox is asked for at its host, and one in the archive at a host that has all that it needs', () => {
  const row = { sandboxId: 'sbx_1', hostId: 'first', state: 'running', options: { runtime: 'runsc', hostLabels: ['gpu'] } } as unknown as SandboxRow;
  expect(targetOfRow(row, OWNER)).toEqual({ sandboxId: 'sbx_1', ...OWNER, hostId: 'first' });
  const needs = { runtime: 'runsc', labels: ['gpu'] };
  expect(targetOfRow({ ...row, state: 'archived' }, OWNER)).toEqual({ sandboxId: 'sbx_1', ...OWNER, hostId: undefined, needs });
});
