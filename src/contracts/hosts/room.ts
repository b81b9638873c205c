/** What a sandbox waits for: memory of a host. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type WaitsForRoom = {
  /** Its memory limit. MiB, as all here. */
  neededMb: number;
  /** The host that was asked last. Another one may take the sandbox, if it is on none. */
  host: string;
  /** What the host has promised to other sandboxes, and what it may promise. */
  promisedMb: number;
  allowedMb: number;
  /** How many others had asked before. */
  ahead: number;
};

/** Of the status of a conversation. */
export interface RoomStatus {
  /** A call waits for memory of a host; set when the status is read from the database, while it does. */
  waitsForRoom?: WaitsForRoom;
}

/** For people, in one line. */
export function roomText({ neededMb, host, promisedMb, allowedMb, ahead }: WaitsForRoom): string {
  return `waits for ${neededMb} MB of memory: host ${host} has promised ${promisedMb} of ${allowedMb} MB, ${ahead} ${ahead === 1 ? 'waits' : 'wait'} longer`;
}
