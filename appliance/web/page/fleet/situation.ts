// What a node does or waits for, as one short phrase for its row.

import { attentionReason, type Row } from '../live/row.ts';
import { capital, words } from '../text.ts';

/** "It waits for an operator to deploy it." → "waits for an operator to deploy it" */
const shortened = (sentence: string): string => sentence.split('. ', 1).join('').replace(/^It /, '').replace(/\.$/, '');

const CABLES: Readonly<Record<NonNullable<Row['cabling']>['verdict'], string>> = {
  'as-declared': 'cable as declared',
  'another-port': 'cable in another port',
  'not-heard': 'switch port not heard',
  'not-declared': 'switch port not declared',
};

export function situation(row: Row): string {
  const { state, progress } = row;
  if (progress !== null) {
    const percent = progress.percent === null ? '' : ` ${Math.round(progress.percent)} %`;
    const detail = progress.detail === null || progress.detail === '' ? '' : `, ${progress.detail}`;
    return capital(`${words(progress.step)}${percent}${detail}`);
  }
  if (state === 'failed' || state === 'quarantined') return capital(row.reason ?? shortened(row.waiting_for));
  const cable = row.cabling === null ? '' : `; ${CABLES[row.cabling.verdict]}`;
  if (state === 'discovered') return `Waits to be accepted${cable}`;
  if (state === 'active') {
    const user = row.allocated_to === null ? 'In service' : `Used by ${row.allocated_to}`;
    const reason = attentionReason(row);
    return reason === null ? user : `${user}; ${reason}`;
  }
  const reason = attentionReason(row) ?? (row.reason === null ? null : row.reason);
  return capital(reason === null ? shortened(row.waiting_for) : `${shortened(row.waiting_for)}; ${reason}`);
}

export const position = ({ rack, unit }: Pick<Row, 'rack' | 'unit'>): string =>
  rack === null ? '–' : unit === null ? rack : `${rack} · ${unit}`;
