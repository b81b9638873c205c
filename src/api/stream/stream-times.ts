/** How long streams and WebSockets are quiet, in milliseconds. */
export interface StreamTimes {
  /** Between two comments or pings, while nothing happens: proxies cut connections that are idle for longer. */
  heartbeatMs: number;
  /** A reader that does not make room in this time, or answers no ping, is disconnected. It loses nothing: it connects again and says where it was. */
  stalledMs: number;
}

export const STREAM_TIMES: StreamTimes = { heartbeatMs: 15_000, stalledMs: 60_000 };
