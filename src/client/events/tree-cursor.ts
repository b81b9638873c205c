import { failure } from '../../contracts/errors.ts';
import { showValue } from '../../common/show-value.ts';

/** How far the reader of a tree of conversations is: the number of the last event that it has of each conversation from which more may come. */
export type TreePlace = Map<string, number>;

/** In place of a list, when nothing comes any more. */
const ENDED = 'ended';
/** Far more than the conversations of a tree that are open at the same time. */
const MOST = 200;
const ITEM = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127}):(\d{1,15})$/;

/** As a text that readers send back as it is: `conv_1:12,conv_2:3`. */
export function cursorOf(place: TreePlace): string {
  return place.size === 0 ? ENDED : [...place].map(([conversationId, seq]) => `${conversationId}:${seq}`).join(',');
}

/** @throws INVALID_ARGUMENT */
export function placeOf(cursor: string): TreePlace {
  if (cursor === ENDED) return new Map();
  const items = cursor.split(',', MOST + 1).map((item) => ITEM.exec(item));
  const place = new Map(items.flatMap((found) => (found ? [[found[1] ?? '', Number(found[2])] as const] : [])));
  if (place.size === items.length && place.size <= MOST) return place;
  throw notOfTree(cursor);
}

export function notOfTree(cursor: string): Error {
  const fix = 'Give the cursor of an event of this tree, as it was, or none to begin at the first event';
  return failure('INVALID_ARGUMENT', { what: 'the place in the tree', problem: `${showValue(cursor)} is none`, fix });
}
