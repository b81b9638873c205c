import { mustRun, runCommand } from '../platform/run-command.ts';
import { IMAGE_LABEL } from './image-definition.ts';

export interface TemplateImage {
  image: string;
  template: string;
  /** Bytes. */
  size: number;
}

/** The images on this engine of one template, or of all templates. */
export async function templateImages(template?: string): Promise<TemplateImage[]> {
  const label = template === undefined ? IMAGE_LABEL.template : `${IMAGE_LABEL.template}=${template}`;
  const args = ['image', 'ls', '--filter', `label=${IMAGE_LABEL.kind}=template`, '--filter', `label=${label}`, '--format', '{{.Repository}}:{{.Tag}}'];
  const listed = await mustRun('Listing images', 'docker', args, { fix: 'Is the engine running? See: longshore doctor' });
  const names = listed.split('\n').filter((name) => name !== '' && !name.includes('<none>'));
  if (names.length === 0) return [];
  const format = `{{index .RepoTags 0}}\t{{.Size}}\t{{index .Config.Labels "${IMAGE_LABEL.template}"}}`;
  // An image may be removed in between. The command then fails, but still prints the others.
  const { stdout } = await runCommand('docker', ['image', 'inspect', '--format', format, ...new Set(names)]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [image = '', size = '0', name = ''] = line.split('\t');
    return { image, size: Number(size), template: name };
  });
}

/** Names of all containers that were made from an image, running or not. */
export async function containersFrom(image: string): Promise<string[]> {
  const { stdout } = await runCommand('docker', ['ps', '--all', '--filter', `ancestor=${image}`, '--format', '{{.Names}}']);
  return stdout.split('\n').filter((name) => name !== '');
}
