import { failure } from '../../contracts/errors.ts';
import { isOwnVariable } from '../../platform/own-variables.ts';
import { unusable, type RegistryInput, type RegistryVariable } from './server-document.ts';

/** A variable of the worker that a server is given. */
export interface GivenVariable {
  /** Name of the variable. */
  variable: string;
  /** What the server gets it as: `header Authorization`. */
  as: string;
  description: string;
  isSecret: boolean;
}

/** What the author of a server asks for, as values for the file of an agent. */
export interface Inputs {
  /** Undefined for what is not required and has no value. @param as what it is, for messages and for people */
  valueOf(spec: RegistryInput, input: Asked): string | undefined;
  /** A text in which `{names}` stand for variables. */
  filled(text: string, variables: Record<string, RegistryVariable>, as: string): string;
  given: GivenVariable[];
  /** What is not required and was left out. */
  left: string[];
  /** @throws INVALID_ARGUMENT for values that nothing asks for */
  checkAllUsed(): void;
}

interface Asked {
  /** The name for `--set`. */
  name: string;
  as: string;
  /** The worker's variable that takes its place; without it, only a value can. */
  variable?: string;
}

const ANY_REFERENCE = /\$\{env\.[A-Za-z_][A-Za-z0-9_]*\}/g;

/** @param server the name of the server here, for the names of variables. @param set values of the person */
export function createInputs(server: string, set: Readonly<Record<string, string>>): Inputs {
  const given: GivenVariable[] = [];
  const left: string[] = [];
  const known = new Set<string>();
  const refer = (variable: string, as: string, { description = '', isSecret }: RegistryVariable): string => {
    if (isOwnVariable(variable))
      throw unusable(`its ${as} would be the variable ${variable}, which no server may have`, undefined, 'Give the server another name');
    if (!given.some((one) => one.variable === variable && one.as === as)) given.push({ variable, as, description, isSecret });
    return `\${env.${variable}}`;
  };
  const plainOf = (spec: RegistryVariable, { name, as, variable }: Asked): string | undefined => {
    known.add(name);
    const own = set[name];
    if (own !== undefined) {
      if (variable === undefined) refuseSecret(spec, as);
      return chosen(spec, name, own);
    }
    const written = spec.value ?? spec.default;
    if (written !== undefined) return notReferring(written, as);
    if (!spec.isRequired) return undefined;
    if (variable !== undefined) return refer(variable, as, spec);
    refuseSecret(spec, as);
    throw failure('INVALID_ARGUMENT', { what: '--set', problem: `the server needs its ${as}`, fix: `Add --set '${name}=…'${told(spec)}` });
  };
  const filled = (text: string, variables: Record<string, RegistryVariable>, as: string): string => {
    const own: string[] = [];
    const whole = notReferring(text, as).replaceAll(/\{([A-Za-z0-9_.-]+)\}/g, (written, name: string) => {
      const spec = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (!spec) return written;
      // A text with a hole is of no use.
      const value = plainOf({ ...spec, isRequired: true }, { name, as: `variable ${name} of its ${as}`, variable: variableFor(server, name) }) ?? '';
      own.push(...(value.match(ANY_REFERENCE) ?? []));
      return value;
    });
    // What stands around a variable could make a reference of it.
    if ((whole.match(ANY_REFERENCE) ?? []).length !== own.length) throw refersTo(as);
    return whole;
  };
  return {
    given,
    left,
    filled,
    valueOf(spec, asked) {
      const { value: fixed } = spec;
      if (fixed !== undefined && Object.hasOwn(set, asked.name)) {
        throw failure('INVALID_ARGUMENT', { what: '--set', problem: `the ${asked.as} is set by the author of the server`, fix: `Leave ${asked.name} out` });
      }
      known.add(asked.name);
      const value = fixed === undefined ? plainOf(spec, asked) : filled(fixed, spec.variables, asked.as);
      if (value === undefined) left.push(`${asked.as}${spec.description === undefined ? '' : `: ${spec.description}`}`);
      return value;
    },
    checkAllUsed() {
      const unknown = Object.keys(set).find((name) => !known.has(name));
      if (unknown === undefined) return;
      const fix = known.size === 0 ? 'Leave it out' : `It takes ${[...known].join(', ')}`;
      throw failure('INVALID_ARGUMENT', { what: '--set', problem: `the server has no "${unknown}"`, fix });
    },
  };
}

/** `tickets`, `X-Api-Key` -> `TICKETS_X_API_KEY` */
export function variableFor(server: string, name: string): string {
  return `${server}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
}

/** Only the operator says which variables of the worker a stranger's server gets. */
function notReferring(text: string, as: string): string {
  if (text.includes('${env.')) throw refersTo(as);
  return text;
}

function refersTo(as: string): Error {
  return unusable(`its ${as} refers to variables of the worker, which only the file of an agent may do`, undefined, 'Do not use this server');
}

function chosen({ choices, isSecret }: RegistryVariable, name: string, value: string): string {
  if (isSecret && value.match(ANY_REFERENCE) === null) {
    const fix = `Set a variable for the worker and write --set '${name}=\${env.ITS_NAME}'`;
    throw failure('INVALID_ARGUMENT', { what: `--set ${name}`, problem: 'it is a secret, and those are not kept in plain text', fix });
  }
  if (choices === undefined || choices.includes(value)) return value;
  throw failure('INVALID_ARGUMENT', { what: `--set ${name}`, problem: `"${value}" is none of its values`, fix: `Take one of ${choices.join(', ')}` });
}

/** Arguments of programs can be read by others, and have no references. */
function refuseSecret({ isSecret }: RegistryVariable, as: string): void {
  if (isSecret) throw unusable(`its ${as} is a secret, which a command line does not keep`, undefined, 'Use another server');
}

function told({ description }: RegistryVariable): string {
  return description === undefined || description === '' ? '' : ` (${description})`;
}
