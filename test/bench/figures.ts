// Output of benchmarks: a table for people, then a line for programs.

export interface Figure {
  readonly name: string;
  readonly value: number;
}

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Columns as wide as their content; the first left-aligned, numbers right-aligned. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  for (const row of all) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    say(cells.join('   ').trimEnd());
  }
}

/** `more`: further members of the line, such as `cpu_ms_per_gb=41`. */
export function printVerdict(
  bench: string,
  ours: number,
  peers: readonly Figure[],
  more: readonly string[] = [],
): void {
  const { name, value } = peers.reduce((best, peer) => (peer.value > best.value ? peer : best));
  const verdict = `ours=${shown(ours)} peer=${shown(value)} (${name}) ratio=${(ours / value).toFixed(2)}`;
  say([`${bench}: ${verdict}`, ...more].join(' '));
}

export const shown = (value: number): string => value.toFixed(value < 100 ? 1 : 0);

/** Of an even number of values: the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** The smallest value that is at least this share of all values. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}
