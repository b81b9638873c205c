import { shellQuoted } from '../common/shell-quoted.ts';
import { LABEL } from '../sandbox/engine/labels.ts';
import type { TemplateBuild } from '../definitions/templates/template.ts';

/** Labels of the images of templates; `templateImages` searches for them. */
export const IMAGE_LABEL = { kind: 'longshore.image', template: LABEL.template } as const;

const SUPERVISOR = ['python3', '-I', '-S', '-B', '/opt/longshore/supervisor.py'];

/**
 * The Dockerfile of a template. Texts of the template are only in the JSON form of an instruction, so that they can neither become an instruction nor be split
 * by a shell. The last lines are those that every sandbox needs; they override what the base sets.
 */
export function imageDefinition(build: TemplateBuild, name: string, image: string): string {
  const { packages, users, setup, workDirectory } = build;
  const lines = [...beginning(), 'USER 0:0', ...inHomeOf('user')];
  if (packages.length > 0) {
    const install = `apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${packages.map(shellQuoted).join(' ')}`;
    lines.push(runLine(`${install} && rm -rf /var/lib/apt/lists/*`));
  }
  for (const { name: user, uid } of users) {
    lines.push(runLine(`useradd ${uid === undefined ? '' : `--uid ${uid} `}--user-group --create-home --home-dir /home/${user} --shell /bin/bash ${user}`));
  }
  if (workDirectory !== undefined) lines.push('USER user', runLine(`mkdir -p ${shellQuoted(workDirectory)}`));
  for (const { run, user } of setup) {
    const hasHome = users.some((declared) => declared.name === user);
    lines.push(...inHomeOf(hasHome ? user : 'user'), `USER ${user}`, runLine(run));
  }
  lines.push(
    'USER 0:0',
    ...inHomeOf('user'),
    'ENTRYPOINT []',
    `CMD ${JSON.stringify(SUPERVISOR)}`,
    // Overrides the inherited label, with which the image would count as a build of the standard image.
    `LABEL ${IMAGE_LABEL.template}=${name} longshore.inputs=${image.replace(/^.*-/, '')}`,
  );
  return `${lines.join('\n')}\n`;
}

/**
 * The first lines. An intermediate image inherits the labels of its base, and the clean-up after a new standard image removes images with the label of the
 * standard image.
 */
export function beginning(): string[] {
  return ['ARG BASE', 'FROM ${BASE}', `LABEL ${IMAGE_LABEL.kind}=template`];
}

function inHomeOf(user: string): string[] {
  return [`WORKDIR /home/${user}`, `ENV HOME=/home/${user}`];
}

function runLine(command: string): string {
  return `RUN ${JSON.stringify(['/bin/bash', '-euo', 'pipefail', '-c', command])}`;
}
