import { Duplex } from 'node:stream';
import { failure } from '../../src/contracts/errors.ts';
import type { Engine } from '../../src/sandbox/engine/engine.ts';
import type { Store } from '../../src/store/store.ts';

type Realm = 'engine' | 'database';
/** `after`: it took effect, and the answer is lost. */
export type When = 'before' | 'after';

/** Calls that change something: of these the answer may be lost as well. */
const CHANGES =
  /\.(create|createAttached|createHelper|start|pause|unpause|createVolume|copy|unpack|make|ensure|change|insert|finish|claim|remove|removeVolume|removeContainer)$/;

/** Real engine and database, of which one call fails. */
export class Faults {
  /** Names of the calls since the last `arm`. */
  calls: string[] = [];
  #fault: { number: number; when: When } | undefined;
  /** Called at each call, before it is made. */
  onCall: (name: string) => void = () => undefined;

  /** From now on the call of that number fails, once; without a number none does. */
  arm(number?: number, when: When = 'before'): void {
    this.calls = [];
    this.#fault = number === undefined ? undefined : { number, when };
  }

  engine(engine: Engine): Engine {
    return this.#wrap('engine', 'engine', engine);
  }

  store<T extends Pick<Store, 'sandboxes' | 'pools' | 'snapshots' | 'blobs' | 'events'>>(store: T): T {
    const { sandboxes, pools, snapshots } = store;
    return {
      ...store,
      sandboxes: this.#wrap('database', 'sandboxes', sandboxes),
      pools: this.#wrap('database', 'pools', pools),
      snapshots: this.#wrap('database', 'snapshots', snapshots),
    };
  }

  #wrap<T extends object>(realm: Realm, label: string, target: T): T {
    return new Proxy(target, {
      get: (_target, property) => {
        const part = Reflect.get(target, property) as unknown;
        if (typeof part === 'object' && part !== null) return this.#wrap(realm, String(property), part);
        if (typeof part !== 'function') return part;
        const name = `${label}.${String(property)}`;
        if (name === 'copies.jobs') return (...given: unknown[]) => this.#wrap(realm, 'jobs', Reflect.apply(part, target, given) as object);
        return name === 'jobs.pack' ? part.bind(target) : (...given: unknown[]) => this.#call(realm, name, () => Reflect.apply(part, target, given));
      },
    });
  }

  async #call(realm: Realm, name: string, call: () => unknown): Promise<unknown> {
    const number = this.calls.push(name) - 1;
    this.onCall(name);
    const fault = this.#fault?.number === number ? this.#fault : undefined;
    if (fault?.when === 'before') throw errorOf(realm, name);
    const answer = await call();
    if (fault === undefined) return answer;
    // A stream breaks with the answer that it is in.
    const stream = answer instanceof Duplex ? answer : (answer as { stream?: Duplex } | undefined)?.stream;
    stream?.destroy();
    throw errorOf(realm, name);
  }
}

/** Each way in which one of these calls can fail. `lasting`: only those after which something may be left. */
export function waysToFail(calls: string[], which: 'all' | 'lasting'): { number: number; name: string; when: When }[] {
  return calls.flatMap((name, number) => {
    const changes = CHANGES.test(name);
    const before = which === 'all' || name.startsWith('jobs.');
    return [...(before ? [{ number, name, when: 'before' as const }] : []), ...(changes ? [{ number, name, when: 'after' as const }] : [])];
  });
}

function errorOf(realm: Realm, name: string): Error {
  const problem = `injected at ${name}`;
  return realm === 'engine' ? failure('DOCKER_FAILED', { action: name, problem }) : failure('POSTGRES_UNAVAILABLE', { problem });
}
