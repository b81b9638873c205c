import { echoTool } from '../../tools.ts';
import type { ApprovalRule } from '../../../../src/contracts/agent.ts';
import { decide, type Decision } from '../../../../src/plugins/approval/decide.ts';

const shell = { ...echoTool('run'), id: 'shell:run', pluginId: 'shell' };

/** The decision of an agent's rules about a command of shell:run. */
export function judge(approval: ApprovalRule[], command: string): Decision {
  return decide({ approval, requireApproval: {} }, shell, { command });
}

export const rule = (command: string, decision: ApprovalRule['decide']): ApprovalRule => ({ tool: 'shell:run', when: { command }, decide: decision });
/** Denies rm and allows everything else. */
export const noRm: ApprovalRule[] = [rule('rm *', 'deny'), { tool: 'shell:run', decide: 'allow' }];
