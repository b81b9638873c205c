import type { SandboxHandle, WorkerHandle } from '../api/sandbox.ts';
import type { Pty } from '../api/terminals.ts';
import { CODE } from './code.ts';
import { COMMANDS } from './commands.ts';
import { FILES } from './files.ts';
import { HOST_ONLY } from './host-only.ts';
import { parseArguments, type Parameters } from './parse.ts';
import { checkedPty, TERMINALS } from './terminals.ts';

type Method = Exclude<keyof WorkerHandle, 'sandboxId' | 'fence'>;
type AnyMethod = (...parameters: unknown[]) => unknown;

const PARAMETERS: Record<Method, Parameters> = { ...COMMANDS, ...FILES, ...CODE, ...TERMINALS, ...HOST_ONLY };

/** Methods that return an iterable, and so also throw synchronously. */
const SYNCHRONOUS = new Set<string>(['readFileStream']);
const CHECKED = new WeakSet<WorkerHandle>();

/** The handle without the methods that only a worker needs. */
export function withoutHostMethods(handle: WorkerHandle): SandboxHandle {
  const own: object = Object.fromEntries(Object.entries(handle).filter(([name]) => name !== 'fence' && !Object.hasOwn(HOST_ONLY, name)));
  return own as SandboxHandle;
}

/** The same handle; it parses its arguments before it does anything else. */
export function checkedHandle(handle: WorkerHandle): WorkerHandle {
  if (CHECKED.has(handle)) return handle;
  const methods = Object.entries(PARAMETERS).map(([name, parameters]) => [name, checkedMethod(handle, name as Method, parameters)]);
  const checked = { ...handle, ...(Object.fromEntries(methods) as object) };
  CHECKED.add(checked);
  return checked;
}

function checkedMethod(handle: WorkerHandle, name: Method, parameters: Parameters): AnyMethod {
  const call = handle[name] as AnyMethod;
  if (SYNCHRONOUS.has(name)) return (...given) => call(...parseArguments(name, parameters, given));
  return async (...given) => {
    const made = await call(...parseArguments(name, parameters, given));
    return name === 'openPty' || name === 'attachPty' ? checkedPty(made as Pty) : made;
  };
}
