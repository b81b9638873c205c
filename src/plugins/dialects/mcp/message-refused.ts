/** A message of a server that is not parsed; nothing is known of what it answers, so that the connection is of no use any more. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';

  /** @param excess a clause: "is larger than …" */
  constructor(excess: string) {
    super(`it sent a message that ${excess}`);
  }
}
