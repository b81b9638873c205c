/** US dollars for a million tokens. */
export interface Rates {
  input: number;
  output: number;
  /** Default: as `input`. */
  cacheRead?: number;
  /** Default: as `input`. */
  cacheWrite?: number;
}

/** What the models cost whose names fit. */
export interface Price extends Rates {
  /** `provider/model`, as agents write it; `*` stands for any text. */
  model: string;
  /** Other rates, for the whole of a call whose input has more tokens than this. */
  over?: Rates & { inputTokens: number };
}
