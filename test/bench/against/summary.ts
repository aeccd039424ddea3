// Medians, spreads and ratios of all runs, as a table in Markdown. Pure: readings in, text out.

import { median } from '../figures.ts';
import type { PrintedFigure, Reading } from './printed.ts';

/** The readings of one figure in one tree, one for each run that printed it. */
export interface FigureRuns {
  readonly figure: Pick<PrintedFigure, 'label' | 'unit' | 'better'>;
  /** Of the tree of this revision. */
  readonly now: readonly Reading[];
  /** Of the other tree; null without one. */
  readonly before: readonly Reading[] | null;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
}

export function spreadOf(readings: readonly Reading[]): Spread | null {
  const values = readings.map(({ value }) => value);
  return values.length === 0
    ? null
    : { median: median(values), min: Math.min(...values), max: Math.max(...values), runs: values.length };
}

/** The median of ours divided by the peer's of the same run: both had the same minute of the machine. */
export function peerRatioOf(readings: readonly Reading[]): number | null {
  const ratios = readings.flatMap(({ value, peer }) => (peer === null || peer.value === 0 ? [] : [value / peer.value]));
  return ratios.length === 0 ? null : median(ratios);
}

export const ratioOf = (now: Spread, before: Spread): number | null =>
  before.median === 0 ? null : now.median / before.median;

/** Better or worse only when no run of one tree lies between runs of the other. One run has no spread. */
export function verdictOf(
  better: PrintedFigure['better'],
  now: Spread,
  before: Spread,
): 'better' | 'worse' | 'same' | 'unknown' {
  if (now.runs < 2 || before.runs < 2) return 'unknown';
  if (now.min > before.max) return better === 'more' ? 'better' : 'worse';
  if (now.max < before.min) return better === 'more' ? 'worse' : 'better';
  return 'same';
}

/** Four significant digits, thousands separated. */
export function digits(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: decimals });
}

const shownSpread = ({ median: middle, min, max }: Spread): string =>
  min === max ? digits(middle) : `${digits(middle)} (${digits(min)}–${digits(max)})`;

const shownRatio = (ratio: number | null): string => (ratio === null ? '' : `${ratio.toFixed(2)}×`);

export interface Table {
  readonly lines: readonly string[];
  /** What is not in the table, and why. */
  readonly notCompared: readonly string[];
}

/** Both trees: `old` and `now` are their short names. */
export function comparisonTable(runs: readonly FigureRuns[], old: string, now: string): Table {
  const notCompared: string[] = [];
  const rows = runs.flatMap(({ figure, now: readings, before }) => {
    const [nowSpread, oldSpread] = [spreadOf(readings), spreadOf(before ?? [])];
    if (nowSpread === null || oldSpread === null) {
      const silent = [...(oldSpread === null ? [old] : []), ...(nowSpread === null ? [now] : [])].join(' and ');
      notCompared.push(
        `${figure.label}: not printed by ${silent}${nowSpread === null ? '' : `; ${now}: ${withUnit(figure, nowSpread)}`}`,
      );
      return [];
    }
    const peers = [before ?? [], readings].map((each) => shownRatio(peerRatioOf(each)));
    return [
      [
        withPreference(figure),
        shownSpread(oldSpread),
        shownSpread(nowSpread),
        shownRatio(ratioOf(nowSpread, oldSpread)),
        verdictOf(figure.better, nowSpread, oldSpread),
        peers.every((peer) => peer === '') ? '' : peers.map((peer) => peer || '–').join(' → '),
      ],
    ];
  });
  const head = ['work', old, now, `${now} / ${old}`, 'beyond the spread', 'ours / peer'];
  return { lines: rows.length === 0 ? [] : markdown(head, rows), notCompared };
}

const withUnit = ({ unit }: FigureRuns['figure'], spread: Spread): string => `${shownSpread(spread)} ${unit}`;
const withPreference = ({ label, unit, better }: FigureRuns['figure']): string =>
  `${label}, ${unit} (${better === 'more' ? 'higher' : 'lower'} is better)`;

/** One tree, as in the README. */
export function readmeTable(runs: readonly FigureRuns[]): Table {
  const notCompared: string[] = [];
  const rows = runs.flatMap(({ figure, now }) => {
    const spread = spreadOf(now);
    if (spread === null) {
      notCompared.push(`${figure.label}: not printed`);
      return [];
    }
    return [[figure.label, withUnit(figure, spread), shownPeer(figure, now), shownRatio(peerRatioOf(now))]];
  });
  return { lines: rows.length === 0 ? [] : markdown(['work', 'Coldiron', 'peer', ''], rows), notCompared };
}

function shownPeer(figure: FigureRuns['figure'], readings: readonly Reading[]): string {
  const peers = readings.flatMap(({ peer }) => (peer === null ? [] : [peer]));
  const [first] = peers;
  if (!first) return '';
  const spread = spreadOf(peers.map(({ value }) => ({ value, peer: null })));
  const names = [...new Set(peers.map(({ name }) => name))].join(' or ');
  return spread === null ? '' : `${names} ${withUnit(figure, spread)}`;
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)];
}
