const END = '\n\n';
/** Of one event; far more than any has. */
const MAX_FRAME = 64 * 1024 * 1024;

/** Makes frames of a stream of server-sent events out of its bytes. The last one stays open until its end comes. */
export function createFrameSplitter(): (chunk: Uint8Array) => string[] {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const from = Math.max(0, rest.length - 1);
    rest += decoder.decode(chunk, { stream: true });
    const end = rest.lastIndexOf(END);
    if (end < from) {
      if (rest.length > MAX_FRAME) throw new Error(`an event of the stream has more than ${MAX_FRAME} characters`);
      return [];
    }
    const frames = rest.slice(0, end).split(END);
    rest = rest.slice(end + END.length);
    return frames;
  };
}
