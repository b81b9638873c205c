import { buildTemplate } from '../../src/images/build-template.ts';
import { removeTemplate } from '../../src/images/remove-template.ts';
import type { Template } from '../../src/definitions/templates/template.ts';
import { userLock, withLock } from '../../src/platform/lock.ts';

/** What a test has done in a program of its own, whose `docker` is the test's: prints what came of it. */
const [what = '', image = ''] = process.argv.slice(2);
const template = { name: 'tools', pool: 0, options: { image }, build: { packages: [], users: [], setup: [] } } as unknown as Template;
const options = { standardImage: 'longshore-sandbox:latest', log: () => undefined };

const WORK: Record<string, () => Promise<unknown>> = {
  remove: () => removeTemplate('tools', { force: false }),
  'remove-forced': () => removeTemplate('tools', { force: true }),
  build: () => buildTemplate(template, options),
  'build-forced': () => buildTemplate(template, { ...options, force: true }),
  async 'build-aborted'() {
    const controller = new AbortController();
    return withLock(userLock('template-tools.lock'), async () => {
      const building = buildTemplate(template, { ...options, signal: controller.signal });
      controller.abort();
      return building;
    });
  },
};

try {
  console.log(JSON.stringify({ result: await WORK[what]?.() }));
} catch (error) {
  console.log(JSON.stringify({ failed: `${(error as Error).name}: ${(error as Error).message}` }));
}
