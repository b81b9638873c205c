/**
 * Replaces a module of Node in a compartment, so that the code of tools that run in the sandbox can be inspected. While the code is evaluated, every use of
 * it succeeds; after that, every call of it throws.
 */
export function standIn(name: string): object {
  let evaluated = false;
  queueMicrotask(() => {
    evaluated = true;
  });
  const use = (): object => {
    if (evaluated) throw new Error(`"${name}" is available only while a tool with isolation container runs`);
    return anything;
  };
  const anything: object = new Proxy(function stand() {}, {
    get: (_target, key) => (key === 'then' || key === '__esModule' ? undefined : key === Symbol.toPrimitive ? () => name : anything),
    getPrototypeOf: () => anything,
    apply: use,
    construct: use,
  });
  return anything;
}
