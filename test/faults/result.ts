// Judges the first answer to a fault.

import type { Fault } from './fault.ts';

/** Null: "nothing is wrong". */
export const isRight = ({ right }: Fault, id: string | null): boolean =>
  right.length === 0 ? id === null : id !== null && right.includes(id);
