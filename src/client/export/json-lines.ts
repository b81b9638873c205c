/** Rows of the database that are read page by page, as often as needed. */
export interface Pages<Row> {
  /** The rows after a number, in their order; none when there are no more. */
  read: (afterSeq: number) => Promise<Row[]>;
}

export interface MeasuredText {
  size: number;
  /** Number of its last row, and how many there are. */
  lastSeq: number;
  rows: number;
}

/** What the text of all rows, and of the rows as lines, will take up: an archive says the size of a file before its content. */
export async function measure<Row extends { seq: number }>(pages: Pages<Row>, forms: ((row: Row) => string)[]): Promise<MeasuredText[]> {
  const sizes = forms.map(() => 0);
  let lastSeq = 0;
  let rows = 0;
  for await (const page of pagesOf(pages, Number.MAX_SAFE_INTEGER)) {
    for (const row of page) for (const [index, form] of forms.entries()) sizes[index] = (sizes[index] ?? 0) + Buffer.byteLength(form(row));
    lastSeq = page.at(-1)?.seq ?? lastSeq;
    rows += page.length;
  }
  return sizes.map((size) => ({ size, lastSeq, rows }));
}

/** The texts of the rows up to a number. */
export async function* textOf<Row extends { seq: number }>(pages: Pages<Row>, form: (row: Row) => string, lastSeq: number): AsyncGenerator<Buffer> {
  for await (const page of pagesOf(pages, lastSeq)) for (const row of page) yield Buffer.from(form(row));
}

async function* pagesOf<Row extends { seq: number }>({ read }: Pages<Row>, lastSeq: number): AsyncGenerator<Row[]> {
  for (let after = 0; after < lastSeq;) {
    const page = (await read(after)).filter(({ seq }) => seq <= lastSeq);
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)?.seq ?? lastSeq;
  }
}

export function jsonLine(row: object): string {
  return `${JSON.stringify(row)}\n`;
}
