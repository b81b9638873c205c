import type { PlaceActivities } from '../../contracts/places/turn-place.ts';
import type { TurnPlaceDesk } from './turn-places.ts';

export function createPlaceActivities(desk: Pick<TurnPlaceDesk, 'ask' | 'leave'>): PlaceActivities {
  return {
    askForPlace: (args) => desk.ask(args),
    leavePlace: (args) => desk.leave(args, 'rests'),
  };
}
