// Counters, gauges and histograms, and their text: the Prometheus text format 0.0.4, and OpenMetrics 1.0 for those who ask for it. Counting on a
// hot path is one addition to a number that was looked up before.

export type MetricKind = 'counter' | 'gauge' | 'histogram';

export interface MetricRow {
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
}

export type MetricTable = Readonly<Record<string, MetricRow>>;

/** Values of labels come from tables and from the inventory. Above this number, further ones are counted under one name. */
const MOST_SERIES = 2000;
const OTHERS = 'other';

interface Series {
  readonly labels: readonly string[];
  value: number;
  /** Of a histogram: how many values each bucket has, the last without upper bound. */
  readonly counts: number[];
  sum: number;
}

class Metric {
  readonly name: string;
  readonly row: MetricRow;
  readonly #series = new Map<string, Series>();

  constructor(name: string, row: MetricRow) {
    this.name = name;
    this.row = row;
  }

  of(labels: readonly string[]): Series {
    const key = labels.join('\u0000');
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size >= MOST_SERIES && !labels.every((label) => label === OTHERS)) {
      return this.of(labels.map(() => OTHERS));
    }
    const counts = Array<number>(this.row.kind === 'histogram' ? (this.row.buckets ?? []).length + 1 : 0).fill(0);
    const series = { labels, value: 0, counts, sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  clear(): void {
    this.#series.clear();
  }

  text(openMetrics: boolean): string {
    const { kind, help } = this.row;
    const isCounter = kind === 'counter';
    // OpenMetrics names the family without the suffix of its samples.
    const family = isCounter && !openMetrics ? `${this.name}_total` : this.name;
    const lines = [`# HELP ${family} ${escapedHelp(help, openMetrics)}`, `# TYPE ${family} ${kind}`];
    for (const series of this.#series.values()) {
      if (kind === 'histogram') lines.push(...this.#histogramLines(series));
      else lines.push(`${this.name}${isCounter ? '_total' : ''}${this.#labels(series)} ${numberText(series.value)}`);
    }
    return `${lines.join('\n')}\n`;
  }

  #histogramLines(series: Series): string[] {
    const { buckets = [] } = this.row;
    const lines: string[] = [];
    let total = 0;
    for (const [at, count] of series.counts.entries()) {
      total += count;
      const bound = buckets[at];
      const le = bound === undefined ? '+Inf' : floatText(bound);
      lines.push(`${this.name}_bucket${this.#labels(series, `le="${le}"`)} ${total}`);
    }
    lines.push(`${this.name}_sum${this.#labels(series)} ${numberText(series.sum)}`);
    lines.push(`${this.name}_count${this.#labels(series)} ${total}`);
    return lines;
  }

  #labels({ labels }: Series, more?: string): string {
    const pairs = labels.map((value, at) => `${this.row.labels[at] ?? OTHERS}="${escapedValue(value)}"`);
    if (more !== undefined) pairs.push(more);
    return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
  }
}

export class Registry<Table extends MetricTable> {
  readonly #metrics = new Map<string, Metric>();

  constructor(table: Table) {
    for (const [name, row] of Object.entries(table)) this.#metrics.set(name, new Metric(name, row));
  }

  add(name: keyof Table & string, labels: readonly string[], by = 1): void {
    this.#of(name).of(labels).value += by;
  }

  /** For a gauge, and for a counter that is kept elsewhere. */
  set(name: keyof Table & string, labels: readonly string[], value: number): void {
    this.#of(name).of(labels).value = value;
  }

  observe(name: keyof Table & string, labels: readonly string[], value: number): void {
    const metric = this.#of(name);
    const series = metric.of(labels);
    const { buckets = [] } = metric.row;
    let at = 0;
    while (at < buckets.length && value > (buckets[at] ?? 0)) at += 1;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += value;
  }

  /** Before a gauge is set for everything that exists now. */
  clear(name: keyof Table & string): void {
    this.#of(name).clear();
  }

  text(openMetrics: boolean): string {
    const texts = [...this.#metrics.values()].map((metric) => metric.text(openMetrics));
    return `${texts.join('')}${openMetrics ? '# EOF\n' : ''}`;
  }

  #of(name: string): Metric {
    const metric = this.#metrics.get(name);
    if (metric === undefined) throw new Error(`there is no metric ${name}`);
    return metric;
  }
}

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const escapedValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const escapedHelp = (text: string, openMetrics: boolean): string => {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return openMetrics ? escaped.replaceAll('"', '\\"') : escaped;
};

const numberText = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
};

/** OpenMetrics wants bounds as floating point numbers: 1.0. */
const floatText = (value: number): string => (Number.isInteger(value) ? value.toFixed(1) : numberText(value));
