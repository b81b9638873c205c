/** Books that a user wants to read and has read, with a goal for the year. A class plugin in the style of MaiBot. */
import { MaiBotPlugin, tool, ToolParameterInfo, ToolParamType } from 'longshore/maibot';

interface Book {
  title: string;
  author: string;
  /** When it was finished, `2026-05-17`; absent while it waits. */
  finished?: string;
  rating?: number;
}

const KEY = 'books';

const title = new ToolParameterInfo({ name: 'title', paramType: ToolParamType.STRING, description: 'Title of the book' });

class ReadingList extends MaiBotPlugin {
  override version = '1.0.0';
  override description = 'What a user reads, kept across conversations';
  override configSchema = {
    type: 'object',
    additionalProperties: false,
    properties: { goal: { type: 'integer', minimum: 1, default: 12, description: 'Books to read in a year.' } },
  };
  #goal = 0;

  onLoad(): void {
    this.#goal = Number(this.ctx.config['goal']);
    this.ctx.logger.info(`the goal is ${this.#goal} books a year`);
  }

  onUnload(): void {
    this.ctx.logger.info('the reading list is closed');
  }

  onConfigUpdate(scope: string): void {
    if (scope === 'self') this.onLoad();
  }

  @tool('add', {
    briefDescription: 'Put a book on the reading list of the user',
    parameters: [title, new ToolParameterInfo({ name: 'author', paramType: ToolParamType.STRING, required: false, default: 'unknown' })],
    annotations: { idempotentHint: true },
    requireApproval: false,
  })
  async add({ title, author }: { title: string; author: string }): Promise<Book> {
    const known = await this.#find(title);
    if (known) return known;
    return this.#keep({ title, author });
  }

  @tool('list', {
    briefDescription: 'List the books of the user',
    parameters: [
      new ToolParameterInfo({
        name: 'which',
        paramType: ToolParamType.STRING,
        description: 'Those that wait, those that were read, or all',
        enumValues: ['waiting', 'read', 'all'],
        required: false,
        default: 'waiting',
      }),
    ],
    annotations: { readOnlyHint: true },
  })
  async list({ which }: { which: 'waiting' | 'read' | 'all' }): Promise<{ books: Book[] }> {
    const books = await this.#books();
    return { books: books.filter(({ finished }) => which === 'all' || (which === 'read') === (finished !== undefined)) };
  }

  @tool('finish', {
    briefDescription: 'Note that the user has read a book of the list',
    detailedDescription: 'A book that was finished before keeps its day. When the goal of the year is reached, the user is told.',
    parameters: [
      title,
      new ToolParameterInfo({ name: 'rating', paramType: ToolParamType.INTEGER, description: 'Stars, 1 to 5', enumValues: [1, 2, 3, 4, 5], required: false }),
    ],
    annotations: { idempotentHint: true },
    requireApproval: false,
    permissions: { time: true },
  })
  async finish({ title, rating, stream_id }: { title: string; rating?: number; stream_id: string }): Promise<Book | [boolean, string]> {
    const book = await this.#find(title);
    if (!book) return [false, `"${title}" is not on the list. Add it first.`];
    const finished = book.finished ?? today();
    const kept = await this.#keep({ ...book, finished, ...(rating !== undefined && { rating }) });
    const { read, left } = await this.progress();
    if (book.finished === undefined && left === 0) await this.ctx.send.text(`That was book ${read} of this year: your goal is reached!`, stream_id);
    return kept;
  }

  @tool('progress', {
    briefDescription: 'Tell how many books the user has read this year, and how many are left to the goal',
    annotations: { readOnlyHint: true },
    permissions: { time: true },
  })
  async progress(): Promise<{ read: number; goal: number; left: number }> {
    const year = today().slice(0, 4);
    const read = (await this.#books()).filter(({ finished }) => finished?.startsWith(year)).length;
    return { read, goal: this.#goal, left: Math.max(0, this.#goal - read) };
  }

  @tool('forget', {
    briefDescription: 'Take a book off the reading list',
    parameters: { title: { type: 'string', description: 'Title of the book', required: true } },
    annotations: { destructiveHint: true, idempotentHint: true },
    visibility: 'deferred',
  })
  async forget({ title }: { title: string }): Promise<{ forgotten: boolean }> {
    const known = await this.#find(title);
    if (known) await this.#change((books) => books.filter((book) => !isCalled(book, title)));
    return { forgotten: known !== undefined };
  }

  async #keep(book: Book): Promise<Book> {
    await this.#change((books) => [...books.filter((other) => !isCalled(other, book.title)), book]);
    return book;
  }

  async #find(title: string): Promise<Book | undefined> {
    return (await this.#books()).find((book) => isCalled(book, title));
  }

  async #books(): Promise<Book[]> {
    return ((await this.ctx.store.get(KEY, 'user')) ?? []) as unknown as Book[];
  }

  /** Two conversations of the user may change the list at the same time. */
  async #change(change: (books: Book[]) => Book[]): Promise<void> {
    let outcome;
    do {
      const { value = [], version = 0 } = (await this.ctx.store.entry(KEY, 'user')) ?? {};
      const books = change(value as unknown as Book[]);
      outcome = await this.ctx.store.set(
        KEY,
        books.map((book) => ({ ...book })),
        { scope: 'user', ifVersion: version },
      );
    } while (outcome === 'conflict');
  }
}

/** However it is written. */
function isCalled(book: Book, title: string): boolean {
  return book.title.toLowerCase() === title.trim().toLowerCase();
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

export const createPlugin = (): ReadingList => new ReadingList();
