/** Pixels, row by row; each is 0 for the ground, 1 for a bar, 2 for the axis. */
export interface Picture {
  width: number;
  height: number;
  pixels: Uint8Array;
}

export function drawBars(values: number[], width: number, height: number): Picture {
  const pixels = new Uint8Array(width * height);
  const top = Math.max(0, ...values);
  const bottom = Math.min(0, ...values);
  const scale = (height - 1) / (top - bottom || 1);
  const axis = Math.round(top * scale);
  const step = width / values.length;
  for (const [index, value] of values.entries()) {
    const end = axis - Math.round(value * scale);
    const left = Math.round(index * step + step * 0.1);
    const right = Math.max(left + 1, Math.round((index + 1) * step - step * 0.1));
    for (let y = Math.min(axis, end); y <= Math.max(axis, end); y += 1) pixels.fill(1, y * width + left, y * width + Math.min(right, width));
  }
  pixels.fill(2, axis * width, (axis + 1) * width);
  return { width, height, pixels };
}
