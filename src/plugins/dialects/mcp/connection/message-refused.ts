/** A message of a server that is not parsed. It is unknown which request it answers, so the connection cannot be used any more. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';

  /** @param excess a clause: "is larger than …" */
  constructor(excess: string) {
    super(`it sent a message that ${excess}`);
  }
}
