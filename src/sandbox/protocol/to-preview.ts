import type { OutputPreview } from '../api/commands.ts';
import type { ExecPreview } from './supervisor-connection.ts';

/** One stream of an ended command, with a note where something is left out. */
export function toPreview(preview: ExecPreview, totalBytes: number, keptBytes: number): OutputPreview {
  const { head, tail, leftOut, path } = preview;
  const gap = leftOut === 0 ? '' : `\n… ${leftOut} bytes left out; what was kept is in ${path} …\n`;
  const droppedBytes = totalBytes - keptBytes;
  const dropped = droppedBytes > 0 ? `\n… the last ${droppedBytes} bytes were not kept: the limit is maxOutputBytes, or the disk …\n` : '';
  return { text: `${head}${gap}${tail}${dropped}`, totalBytes, truncated: leftOut > 0 || droppedBytes > 0, ...(droppedBytes > 0 && { droppedBytes }), path };
}
