import type { ConversationActivities, ExecuteToolArgs, ExecuteToolResult } from '../contracts/activities.ts';
import { createAcceptMessage } from './accept-message.ts';
import { acceptingMessages } from './accept-with-model.ts';
import type { LeavePlaceArgs, PlaceArgs } from '../contracts/places/turn-place.ts';
import { boundToApproval } from '../tool-calls/run/bound-to-approval.ts';
import { createCallModel } from './call-model.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { createCloseSubAgent } from './close-sub-agent.ts';
import { createCompactContext, createRestoreContext } from './compact-context.ts';
import { createEditArguments } from './edit-arguments.ts';
import { createExecuteTool } from './execute-tool.ts';
import { growingPause, translated } from './failures.ts';
import { createForkSandbox } from './forks/fork-sandbox.ts';
import { createFinishTurn } from './finish-turn.ts';
import { inPlace } from './places/in-place.ts';
import { placeCaller } from './places/place-caller.ts';
import { createTurnPlaceDesk } from './places/turn-places.ts';
import { createHoldSubAgent } from './hold-sub-agent.ts';
import { createInterruptCall } from './interrupt-call.ts';
import { measured } from '../tool-calls/run/measured.ts';
import { createJudgeCall } from './judge-call.ts';
import { createKeepCheckpoint } from './checkpoints/keep-checkpoint.ts';
import { beating } from './checkpoints/while-beating.ts';
import { createRecordApproval } from './record-approval.ts';
import { createConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';
import { createReportEnd } from './report-end.ts';
import { createRewindConversation } from './checkpoints/rewind-conversation.ts';
import { createSandboxLifecycle } from './sandbox-lifecycle.ts';
import { createSaveStatus } from './save-status.ts';
import { createSettleCall } from '../tool-calls/results/settle-call.ts';
import { createStartScheduled } from './start-scheduled.ts';

/** All activities of a worker. `default` gets every type without an activity of its own: tool calls run under the tool's id. */
export interface WorkerActivities extends ConversationActivities {
  default(args: ExecuteToolArgs): Promise<ExecuteToolResult>;
}

export function createActivities(dependencies: ActivityDependencies): WorkerActivities {
  const parts = { ...dependencies, opened: createConversationSandboxes(dependencies) };
  const lifecycle = createSandboxLifecycle(parts);
  const desk = createTurnPlaceDesk(dependencies);
  return {
    default: translated(measured(boundToApproval(createExecuteTool(parts), parts), dependencies), growingPause),
    callModel: translated(acceptingMessages(inPlace(createCallModel(parts), { ...parts, desk }), parts), growingPause),
    compactContext: translated(createCompactContext(parts)),
    restoreContext: translated(createRestoreContext(parts)),
    settleCall: translated(createSettleCall(parts)),
    judgeCall: translated(createJudgeCall(parts)),
    recordApproval: translated(createRecordApproval(parts)),
    editArguments: translated(createEditArguments(parts)),
    acceptMessage: translated(createAcceptMessage(parts)),
    finishTurn: translated(createFinishTurn({ ...parts, desk })),
    saveStatus: translated(createSaveStatus(parts)),
    freezeSandbox: translated(beating(lifecycle.freezeSandbox)),
    hibernateSandbox: translated(beating(lifecycle.hibernateSandbox)),
    archiveSandbox: translated(beating(lifecycle.archiveSandbox)),
    wakeSandbox: translated(beating(lifecycle.wakeSandbox)),
    stopSandbox: translated(beating(lifecycle.stopSandbox)),
    destroySandbox: translated(beating(lifecycle.destroySandbox)),
    rewindConversation: translated(createRewindConversation(parts)),
    forkSandbox: translated(createForkSandbox(parts)),
    keepCheckpoint: translated(createKeepCheckpoint(parts)),
    interruptCall: translated(beating(createInterruptCall(parts))),
    closeSubAgent: translated(createCloseSubAgent(parts)),
    holdSubAgent: translated(createHoldSubAgent(parts)),
    reportEnd: translated(createReportEnd(parts)),
    askForPlace: translated((args: PlaceArgs) => desk.ask(args, placeCaller())),
    leavePlace: translated((args: LeavePlaceArgs) => desk.leave(args, 'rests', placeCaller())),
    startScheduled: translated(beating(createStartScheduled(parts))),
  };
}
