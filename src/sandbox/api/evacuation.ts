/** What the calls of conversations do in a sandbox. `works`: one runs. `waits`: its code waits for calls of its own, and loses its place when its processes end. */
export type InUse = () => Promise<'no' | 'waits' | 'works'>;

/** `frozen`: it can be moved some seconds later, unless a process thaws it that works in it. `holds calls`: it would be moved without its processes, and calls have begun in it. */
export type Evacuated = 'moved' | 'frozen' | 'in use' | 'holds calls';
