// Events of the trail: how long completed work took, and the events that the trail dropped.

import { Type } from 'typebox';
import type { Json } from '../event.ts';
import { also, nullable, number, optional, rowsOf, text } from './event-row.ts';

const row = rowsOf('trail');
const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

export const TRAIL_EVENTS = {
  'run.timed': row(
    'info',
    {
      work: text,
      sku: nullable(text),
      ms: number,
      /** In order; a stage that several boot attempts passed is counted once. */
      stages: Type.Array(Type.Object({ stage: text, ms: number })),
    },
    (data) =>
      `Completed ${data.work} in ${seconds(data.ms)}: ${data.stages.map(({ stage, ms }) => `${stage} ${seconds(ms)}`).join(', ')}`,
  ),
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
