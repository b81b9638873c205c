/** What an answer to an approval says: which call, what the person saw of it (an answer to another call is refused), and how far that person's reader was. */
export interface ApprovalId {
  callId: string;
  hash: string;
  /** Number of the event that asked. */
  seq: number;
}

export function approvalIdOf({ callId, hash, seq }: ApprovalId): string {
  return `${callId}.${hash}.${seq}`;
}

/** Undefined for a text that is no such id. */
export function readApprovalId(approvalId: string): ApprovalId | undefined {
  const [, callId, hash, seq] = APPROVAL_ID.exec(approvalId) ?? [];
  return callId === undefined || hash === undefined ? undefined : { callId, hash, seq: Number(seq) };
}

const APPROVAL_ID = /^([^.]{1,300})\.([^.]{1,200})\.(\d{1,15})$/;
