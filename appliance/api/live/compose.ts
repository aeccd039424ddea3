// What a tick means for each filter: frames that all listeners of the filter share. Pure.

import type { MachineId } from '../../domain/machine.ts';
import { rowsText, type SharedFrame } from './listener.ts';
import { ROWS_AT_ONCE, type RowChange } from './row-book.ts';
import { Frame } from './sse.ts';
import { type StreamedEvent, type StreamFilter, wantsEvent, wantsRow } from './stream-filter.ts';

/** A listener that cannot take a frame has at most this much, and a little more, waiting for it. */
const FRAME_BYTES = 256 * 1024;

/** What has happened since the last tick. */
export class Tick {
  readonly changes: readonly RowChange[];
  readonly events: readonly StreamedEvent[];
  readonly from: number;
  readonly to: number;
  #changesById: ReadonlyMap<MachineId, RowChange> | null = null;
  #eventsByMachine: ReadonlyMap<MachineId | null, readonly StreamedEvent[]> | null = null;

  constructor(changes: readonly RowChange[], events: readonly StreamedEvent[], from: number) {
    this.changes = changes;
    this.events = events;
    this.from = from;
    this.to = events.at(-1)?.seq ?? from;
  }

  get isEmpty(): boolean {
    return this.changes.length + this.events.length === 0;
  }

  framesFor(filter: StreamFilter): SharedFrame[] {
    return [...this.#rowFrames(filter), ...this.#eventFrames(filter)];
  }

  *#rowFrames(filter: StreamFilter): Generator<SharedFrame> {
    if (!filter.rows) return;
    let rows: string[] = [];
    let gone: string[] = [];
    let changes: RowChange[] = [];
    const frame = (): SharedFrame => ({ frame: new Frame(rowsText(rows, gone)), changes, events: null });
    for (const change of this.#changesOf(filter)) {
      const { before, after } = change;
      const was = before !== null && wantsRow(filter, before);
      const is = after !== null && wantsRow(filter, after);
      if (!was && !is) continue;
      if (was && (!is || after.hostname !== before.hostname)) gone.push(before.hostname);
      if (is) rows.push(after.json);
      changes.push(change);
      if (changes.length < ROWS_AT_ONCE) continue;
      yield frame();
      [rows, gone, changes] = [[], [], []];
    }
    if (changes.length > 0) yield frame();
  }

  *#eventFrames(filter: StreamFilter): Generator<SharedFrame> {
    let text = '';
    let from = this.from;
    const frame = (to: number): SharedFrame => ({ frame: new Frame(text), changes: [], events: { from, to } });
    for (const event of this.#eventsOf(filter)) {
      if (!wantsEvent(filter, event)) continue;
      text += event.text;
      if (text.length < FRAME_BYTES) continue;
      yield frame(event.seq);
      from = event.seq;
      text = '';
    }
    if (text !== '') yield frame(this.to);
  }

  /** Thousands of filters may name one machine each. */
  #changesOf({ machine }: StreamFilter): readonly RowChange[] {
    if (machine === null) return this.changes;
    this.#changesById ??= new Map(this.changes.map((change) => [change.id, change]));
    const change = this.#changesById.get(machine);
    return change ? [change] : [];
  }

  #eventsOf({ machine, events }: StreamFilter): readonly StreamedEvent[] {
    if (!events) return [];
    if (machine === null) return this.events;
    this.#eventsByMachine ??= Map.groupBy(this.events, (event) => event.machine);
    return this.#eventsByMachine.get(machine) ?? [];
  }
}
