import { valid } from 'semver';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { VARIABLE } from '../../plugins/api/plugin-details.ts';
import { createInputs, variableFor, type GivenVariable, type Inputs } from './inputs.ts';
import { unusable, type NamedInput, type RegistryArgument, type RegistryPackage, type RegistryRemote, type ServerDocument } from './server-document.ts';

export interface EntryOptions {
  /** Name of the server here. */
  name: string;
  /** Where its program runs. Absent: one behind an address is preferred. */
  where?: 'host' | 'sandbox' | undefined;
  /** Values for what its author asks for. */
  set: Record<string, string>;
}

/** A server of the registry, as an entry of `mcp` in the file of an agent. */
export interface RegistryEntry {
  entry: JsonObject;
  given: GivenVariable[];
  left: string[];
  /** Hosts from which its program comes. */
  from: string[];
}

/** How packages of a registry are run in exactly one version. */
const REGISTRIES = {
  npm: {
    base: 'https://registry.npmjs.org',
    runner: 'npx',
    name: /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/,
    isExact: (version: string) => valid(version) === version,
    args: (name: string, version: string) => ['-y', `${name}@${version}`],
    hosts: ['registry.npmjs.org'],
  },
  pypi: {
    base: 'https://pypi.org',
    runner: 'uvx',
    name: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
    isExact: (version: string) => /^\d[A-Za-z0-9.!+-]*$/.test(version),
    args: (name: string, version: string) => [`${name}==${version}`],
    hosts: ['pypi.org', 'files.pythonhosted.org'],
  },
} as const;
/** They change the program that fetches and starts the package, so that the version would pin nothing. */
const STEERING =
  /^(?:npm_.*|node_options|node_path|node_extra_ca_certs|pip_.*|uv_.*|python(?:path|home|startup|userbase)|ld_.*|dyld_.*|bash_env|path|home|shell|env|ifs|https?_proxy|all_proxy|ssl_cert_(?:file|dir))$/i;
const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const REFUSED_HEADERS = /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|content-type|accept|mcp-.*|proxy-.*)$/i;
const NOT_USABLE = 'Use another server, or write its entry yourself (docs/guides/mcp.md)';

/** @throws INVALID_ARGUMENT for a server that cannot be used as it is described */
export function entryOf(document: ServerDocument, { name, where, set }: EntryOptions): RegistryEntry {
  const inputs = createInputs(name, set);
  const remote = document.remotes.find(({ type }) => type === 'streamable-http');
  const packaged = document.packages.find(({ registryType, transport }) => Object.hasOwn(REGISTRIES, registryType) && transport.type === 'stdio');
  const made = remote && where === undefined ? remoteEntry(name, remote, inputs) : packaged ? packageEntry(name, packaged, where, inputs) : undefined;
  if (!made) {
    const kinds = [
      ...document.remotes.map(({ type }) => type),
      ...document.packages.map(({ registryType, transport }) => `${registryType} with ${transport.type}`),
    ];
    const asked = where === undefined ? 'streamable-http, npm with stdio or pypi with stdio' : 'npm with stdio or pypi with stdio';
    throw unusable(`it has none of ${asked}, only ${[...new Set(kinds)].join(', ') || 'nothing to connect to'}`, undefined, NOT_USABLE);
  }
  inputs.checkAllUsed();
  return { ...made, given: inputs.given, left: inputs.left };
}

function remoteEntry(server: string, { url, headers, variables }: RegistryRemote, inputs: Inputs): Pick<RegistryEntry, 'entry' | 'from'> {
  const address = inputs.filled(url, variables, 'address');
  if (!/^https:\/\/[^/]/i.test(address) || !URL.canParse(address)) throw unusable('its address does not begin with https://', undefined, NOT_USABLE);
  const sent: JsonObject = {};
  for (const header of headers) {
    if (!HEADER.test(header.name) || REFUSED_HEADERS.test(header.name))
      throw unusable(`its header ${JSON.stringify(header.name)} is not one that may be set`, undefined, NOT_USABLE);
    const value = inputs.valueOf(header, { name: header.name, as: `header ${header.name}`, variable: variableFor(server, header.name) });
    if (value !== undefined) sent[header.name.toLowerCase()] = value;
  }
  return { entry: { url: address, ...(Object.keys(sent).length > 0 && { headers: sent }) }, from: [] };
}

function packageEntry(server: string, packaged: RegistryPackage, where: EntryOptions['where'], inputs: Inputs): Pick<RegistryEntry, 'entry' | 'from'> {
  if (where === undefined) {
    const problem = 'the server is a program, and it is not said where it runs';
    throw failure('INVALID_ARGUMENT', { what: '--where', problem, fix: "Add --where sandbox, or --where host, where it has all rights of the worker's user" });
  }
  const { runner, args, hosts } = runnerOf(packaged);
  const env: JsonObject = {};
  for (const variable of packaged.environmentVariables) {
    const value = inputs.valueOf(variable, { name: checkedVariable(variable), as: `variable ${variable.name}`, variable: variableFor(server, variable.name) });
    if (value !== undefined) env[variable.name] = value;
  }
  const own = packaged.packageArguments.flatMap((argument, index) => wordsOf(argument, index, inputs));
  return { entry: { command: runner, args: [...args, ...own], ...(Object.keys(env).length > 0 && { env }), where }, from: [...hosts] };
}

function runnerOf(packaged: RegistryPackage) {
  const { registryType, identifier, version = '' } = packaged;
  const registry = REGISTRIES[registryType as keyof typeof REGISTRIES];
  const [, problem] = problemsOf(packaged, registry).find(([is]) => is) ?? [];
  if (problem !== undefined) throw unusable(problem, undefined, NOT_USABLE);
  return { runner: registry.runner, args: registry.args(identifier, version), hosts: registry.hosts };
}

function problemsOf(
  { registryBaseUrl: base, identifier, version = '', fileSha256, runtimeHint: hint, runtimeArguments }: RegistryPackage,
  registry: (typeof REGISTRIES)[keyof typeof REGISTRIES],
): [is: boolean, problem: string][] {
  const { runner } = registry;
  return [
    [base !== undefined && base.replace(/\/$/, '') !== registry.base, `its package is in another registry, ${base}`],
    [!registry.name.test(identifier), `${JSON.stringify(identifier)} is no name of a package`],
    [!registry.isExact(version), `${JSON.stringify(version)} is no exact version of its package`],
    [fileSha256 !== undefined, `its package has a digest, which ${runner} does not check`],
    [hint !== undefined && hint !== runner, `it wants to be run by ${JSON.stringify(hint)}, and only ${runner} is used`],
    [runtimeArguments.some((argument) => !isYes(argument)), `it has options for ${runner} itself`],
  ];
}

/** npx gets this anyway. */
function isYes(argument: RegistryArgument): boolean {
  const word = argument.type === 'named' ? argument.name : argument.value;
  return (word === '-y' || word === '--yes') && (argument.type === 'positional' || argument.value === undefined);
}

function wordsOf(argument: RegistryArgument, index: number, inputs: Inputs): string[] {
  if (argument.type === 'named') {
    const value = inputs.valueOf(argument, { name: argument.name, as: `argument ${argument.name}` });
    return value === undefined ? [] : [argument.name, value];
  }
  const name = argument.valueHint ?? `argument${index + 1}`;
  const value = inputs.valueOf(argument, { name, as: `argument ${name}` });
  return value === undefined ? [] : [value];
}

function checkedVariable({ name }: NamedInput): string {
  if (VARIABLE.test(name) && !STEERING.test(name)) return name;
  throw unusable(`its variable ${JSON.stringify(name)} would change how the server is started`, undefined, NOT_USABLE);
}
