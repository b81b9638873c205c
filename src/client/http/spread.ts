/** A pause of half to one and a half times the given one: clients that lost the same service do not all come back at the same moment. */
export function spread(ms: number): number {
  return ms * (0.5 + Math.random());
}
