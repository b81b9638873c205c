import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * Appointments in a JSON file, which is read at each use and written whole. Times are local, `2027-03-01T09:30`, and so sort as texts.
 * @param {string} file
 */
export function createCalendar(file) {
  return {
    between: (from, to) => read().filter(({ start, end }) => start < to && end > from),
    free(from, to, minutes) {
      const gaps = [];
      let at = from;
      for (const { start, end } of [...this.between(from, to), { start: to, end: to }]) {
        if (later(at, minutes) <= start) gaps.push({ start: at, end: start });
        if (end > at) at = end;
      }
      return gaps;
    },
    book(title, start, minutes) {
      const wanted = { title, start, end: later(start, minutes) };
      const [inTheWay] = this.between(wanted.start, wanted.end);
      if (inTheWay) return isSame(inTheWay, wanted) ? { booked: inTheWay } : { inTheWay };
      write([...read(), wanted].toSorted((a, b) => (a.start < b.start ? -1 : 1)));
      return { booked: wanted };
    },
    cancel(title, start) {
      const all = read();
      const left = all.filter((appointment) => appointment.title !== title || appointment.start !== start);
      if (left.length < all.length) write(left);
      return left.length < all.length;
    },
  };

  function read() {
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      if (error.code === 'ENOENT') return [];
      throw new Error(`${file} is no calendar (${error.message})`, { cause: error });
    }
  }

  function write(appointments) {
    // Writes another file first and renames it: a reader finds either the old content or the new one, never a part.
    writeFileSync(`${file}.new`, JSON.stringify(appointments, undefined, 2));
    renameSync(`${file}.new`, file);
  }
}

function isSame(one, other) {
  return one.title === other.title && one.start === other.start && one.end === other.end;
}

/** Counted as if it were UTC, so that no hour is lost or doubled. */
function later(time, minutes) {
  return new Date(Date.parse(`${time}Z`) + minutes * 60_000).toISOString().slice(0, 16);
}
