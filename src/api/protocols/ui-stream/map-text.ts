import type { UIMessageChunk } from 'ai';
import type { Mapped, UiState } from './ui-state.ts';

export function writeText(state: UiState, kind: 'text' | 'reasoning', delta: string): Mapped {
  if (state.open?.kind === kind) return [state, [{ type: `${kind}-delta`, id: state.open.id, delta }]];
  const [closed, ended] = closeText(state);
  const texts = state.texts + 1;
  const id = `${state.turn.turnId}-${texts}`;
  const parts: UIMessageChunk[] = [
    { type: `${kind}-start`, id },
    { type: `${kind}-delta`, id, delta },
  ];
  return [{ ...closed, texts, open: { kind, id } }, [...ended, ...parts]];
}

/** Ends the text that is being written. */
export function closeText(state: UiState): Mapped {
  const { open } = state;
  return open ? [{ ...state, open: undefined }, [{ type: `${open.kind}-end`, id: open.id }]] : [state, []];
}

/** Begins another step of the message. */
export function nextStep(state: UiState): Mapped {
  const [closed, ended] = closeText(state);
  const before: UIMessageChunk[] = state.steps > 0 ? [{ type: 'finish-step' }] : [];
  return [{ ...closed, steps: state.steps + 1 }, [...ended, ...before, { type: 'start-step' }]];
}
