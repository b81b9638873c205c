/** The supervisor sent what the protocol does not allow. Only the code that reads the protocol throws it, never a function of a caller. */
export class ProtocolBreach extends Error {
  override readonly name = 'ProtocolBreach';
}
