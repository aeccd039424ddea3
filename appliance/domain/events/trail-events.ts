// Events of the trail about itself: the events that it dropped.

import { Type } from 'typebox';
import type { Json } from '../event.ts';
import { also, number, optional, rowsOf, text } from './event-row.ts';

const row = rowsOf('trail');

export const TRAIL_EVENTS = {
  'trail.flood': row(
    'warning',
    { mac: optional(text), of: text, count: number, seconds: number, last: Type.Unsafe<Json>(Type.Unknown()) },
    (data) => `Event ${data.of} occurred ${data.count} more times in ${data.seconds} s; these were only counted`,
  ),
  'trail.gap': row(
    'warning',
    { lost: number, of: optional(text) },
    (data) => `The trail dropped ${data.lost} events${also(data.of, (subject) => ` about ${subject}`)}`,
  ),
};
