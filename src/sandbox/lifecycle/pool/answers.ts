import { inTimeOr } from '../../../common/in-time.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** Whether the supervisor answers within `withinMs` milliseconds. */
export async function answers({ connections, log }: Pick<DockerContext, 'connections' | 'log'>, row: SandboxRow, withinMs: number): Promise<boolean> {
  const asked = connections
    .use(row, (connection) => connection.ping())
    .then(
      () => true,
      (error: unknown) => {
        log.debug({ sandboxId: row.sandboxId, err: error }, 'a warm sandbox does not answer');
        return false;
      },
    );
  return inTimeOr(asked, withinMs, false);
}
