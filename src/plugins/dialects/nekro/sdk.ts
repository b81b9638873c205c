/** `longshore/nekro` for a program that imports a plugin as it is. Bundles have `nekro-plugin.ts`, to which the host passes what it has read. */
import { NekroPlugin as BundledPlugin, type SandboxMethod } from './nekro-plugin.ts';
import type { MethodSource } from './reader/method-source.ts';
import { readMethodText } from './reader/read-method.ts';

export * from './nekro-plugin.ts';

/** Reads doc comments at the top of a function's body, and those that are given beside it. */
export class NekroPlugin extends BundledPlugin {
  protected override readSource(method: SandboxMethod, doc?: string): MethodSource {
    return readMethodText(String(method), doc) ?? super.readSource(method, doc);
  }
}
