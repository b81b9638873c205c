/** What a sandbox waits for: memory of a host, or disk. (A type alias: unlike an interface, it is assignable to `Json`.) */
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
  /** It waits for disk: what the host has, and with how much it takes sandboxes again. What is said of promises is 0 then. */
  disk?: { freeMb: number; leastMb: number };
};

/** Of the status of a conversation. */
export interface RoomStatus {
  /** A call waits for memory or disk of a host; set when the status is read from the database, while it does. */
  waitsForRoom?: WaitsForRoom;
}

/** What an error says that a full host has refused with. @param values of HOST_FULL or HOST_DISK_FULL */
export function waitsIn(values: Readonly<Record<string, unknown>>): WaitsForRoom {
  const number = (name: string) => Number(values[name] ?? 0);
  return {
    neededMb: number('neededMb'),
    host: String(values['host']),
    promisedMb: number('promisedMb'),
    allowedMb: number('allowedMb'),
    ahead: number('ahead'),
    ...(values['freeMb'] !== undefined && { disk: { freeMb: number('freeMb'), leastMb: number('leastMb') } }),
  };
}

/** For people, in one line. */
export function roomText({ neededMb, host, promisedMb, allowedMb, ahead, disk }: WaitsForRoom): string {
  if (disk) return `waits for disk: host ${host} has ${disk.freeMb} MB free, and takes new sandboxes again with ${disk.leastMb} MB`;
  return `waits for ${neededMb} MB of memory: host ${host} has promised ${promisedMb} of ${allowedMb} MB, ${ahead} ${ahead === 1 ? 'waits' : 'wait'} longer`;
}
