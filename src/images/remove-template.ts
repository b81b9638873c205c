import { failure } from '../contracts/errors.ts';
import { mustRun } from '../platform/run-command.ts';
import { removeLeftovers } from './remove-leftovers.ts';
import { containersFrom, templateImages } from './template-images.ts';

/**
 * Removes all images of a template, older ones too, and returns their names. The template's file stays.
 * @throws TEMPLATE_IN_USE when an image has containers, unless `force` is set. They then continue, but a sandbox that needs the image again cannot start.
 */
export async function removeTemplate(template: string, { force }: { force: boolean }): Promise<string[]> {
  const images = (await templateImages(template)).map(({ image }) => image);
  const users = new Set<string>();
  for (const image of images) for (const name of await containersFrom(image)) users.add(name);
  if (users.size > 0 && !force) throw failure('TEMPLATE_IN_USE', { template, users: [...users].join(', ') });
  for (const image of images) {
    // Without it, the engine refuses where a container was made of the image since.
    await mustRun(`Removing ${image}`, 'docker', ['image', 'rm', ...(force ? ['--force'] : []), image], { fix: 'Remove the cause and try again' });
  }
  await removeLeftovers(template);
  return images;
}
