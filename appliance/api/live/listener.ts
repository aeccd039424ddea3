// One reader of the stream. Frames that all listeners share are written at once; whatever a slow reader misses is only noted, and sent
// from the row book and the log when it reads again. So its buffer holds one frame at most, however far it is behind.

import { type Instant, instantText, SECOND } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { EventTail } from './event-tail.ts';
import { ROWS_AT_ONCE, type RowBook, type RowChange } from './row-book.ts';
import { Frame, heartbeatText, messageText, type RecentFrames } from './sse.ts';
import { type StreamFilter, wantsEvent, wantsRow } from './stream-filter.ts';

export interface Sink {
  /** False: the reader does not keep up, and `drained` of the listener is called when it does. */
  write(bytes: Buffer): boolean;
  end(): void;
  /** Drops the connection with everything that waits in it. */
  cut(): void;
}

export interface Reader {
  readonly filter: StreamFilter;
  readonly sink: Sink;
  /** Frames are compressed. */
  readonly packed: boolean;
  readonly actor: string;
  /** Whether the caller may still read; asked again and again. */
  readonly stillAllowed: () => Promise<boolean>;
}

interface Sources {
  readonly tail: Pick<EventTail, 'cursor' | 'since' | 'gapAfter'>;
  readonly rows: Pick<RowBook, 'ids' | 'get'>;
  readonly frames: RecentFrames;
  readonly now: () => Instant;
  readonly log: { error(fields: object, message: string): void };
}

/** Part of a tick, for all listeners of one filter. */
export interface SharedFrame {
  readonly frame: Frame;
  /** The rows in it. */
  readonly changes: readonly RowChange[];
  /** The events in it: those after `from`, up to `to`. Null: none. */
  readonly events: { readonly from: number; readonly to: number } | null;
}

export const HEARTBEAT = 15 * SECOND;
/** A reader that takes nothing for so long is disconnected; it resumes where it was. */
export const PATIENCE = 30 * SECOND;
/** Bytes of replayed events in one frame. */
const FRAME_BYTES = 256 * 1024;

export class Listener {
  readonly reader: Reader;
  readonly #sources: Sources;
  /** Rows to send, with the host name that the reader knows; null: it does not know the row. */
  readonly #behind = new Map<MachineId, string | null>();
  /** The reader has every event up to here that it wants. */
  #covered: number;
  #catchingUp = false;
  #announced = false;
  #blockedSince: Instant | null = null;
  #wroteAt: Instant;
  /** Until it has begun, everything is only noted. */
  #pumping = true;
  #isOver = false;

  constructor(reader: Reader, sources: Sources) {
    this.reader = reader;
    this.#sources = sources;
    this.#covered = sources.tail.cursor;
    this.#wroteAt = sources.now();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** `after`: the last event that the reader has; null: it begins with what happens from now on. */
  async begin(after: number | null): Promise<void> {
    const { tail, rows } = this.#sources;
    const { filter } = this.reader;
    if (filter.rows) {
      for (const id of rows.ids()) {
        const row = rows.get(id);
        if (row && wantsRow(filter, row)) this.#behind.set(id, null);
      }
    }
    if (after !== null && filter.events) {
      // From here on, offered events are left to the replay.
      this.#catchingUp = true;
      const reason = await tail.gapAfter(after);
      if (reason === null) this.#covered = after;
      else {
        this.#covered = tail.cursor;
        await this.#send(messageText('reset', JSON.stringify({ reason, cursor: this.#covered }), this.#covered));
      }
    }
    this.#pumping = false;
    await this.#pump();
  }

  /** Called for each frame in order; `bytes` is the frame in the form of this reader. */
  offer(bytes: Buffer, { changes, events }: SharedFrame): void {
    const isBehind = this.#blockedSince !== null || this.#pumping || !this.#announced || this.#isOver;
    const fits = events === null || (!this.#catchingUp && events.from >= this.#covered);
    if (!isBehind && fits) {
      if (events !== null) this.#covered = events.to;
      this.#write(bytes);
      return;
    }
    for (const { id, before } of changes) {
      if (!this.#behind.has(id)) this.#behind.set(id, before?.hostname ?? null);
    }
    if (events !== null && events.to > this.#covered && !this.#catchingUp) {
      // Everything before this frame was offered and written.
      this.#covered = Math.max(this.#covered, events.from);
      this.#catchingUp = true;
    }
    void this.#pump();
  }

  drained(): void {
    this.#blockedSince = null;
    void this.#pump();
  }

  /** Between two ticks: a comment when nothing was written for a while; the end of a reader that takes nothing. */
  attend(now: Instant): void {
    if (this.#isOver) return;
    if (this.#blockedSince !== null) {
      if (now - this.#blockedSince >= PATIENCE) this.cut();
      return;
    }
    if (now - this.#wroteAt < HEARTBEAT || this.#pumping) return;
    const { tail } = this.#sources;
    const cursor = this.#catchingUp ? this.#covered : Math.max(this.#covered, tail.cursor);
    // Not later: the number must not be sent after that of a newer event.
    const frame = new Frame(heartbeatText(this.reader.filter.events ? cursor : null));
    this.#write(this.reader.packed ? frame.packedNow() : frame.plain);
  }

  end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const frame = new Frame(messageText('end', JSON.stringify({ reason })));
    this.reader.sink.write(this.reader.packed ? frame.packedNow() : frame.plain);
    this.reader.sink.end();
  }

  cut(): void {
    this.#isOver = true;
    this.reader.sink.cut();
  }

  /** The connection is closed. */
  left(): void {
    this.#isOver = true;
    this.#behind.clear();
  }

  /** Sends what the reader has missed, for as long as it reads. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (!this.#isOver && this.#blockedSince === null) {
        if (this.#behind.size > 0) await this.#sendRows();
        else if (!this.#announced) await this.#announce();
        else if (this.#catchingUp) await this.#replay();
        else break;
      }
    } catch (err) {
      this.#sources.log.error(
        { err },
        'cannot read what a listener of the event stream has missed; it is disconnected',
      );
      this.cut();
    } finally {
      this.#pumping = false;
    }
  }

  async #sendRows(): Promise<void> {
    const { filter } = this.reader;
    const rows: string[] = [];
    const gone: string[] = [];
    for (const [id, known] of this.#behind) {
      this.#behind.delete(id);
      const row = this.#sources.rows.get(id);
      const isShown = row !== null && wantsRow(filter, row);
      if (known !== null && (!isShown || row.hostname !== known)) gone.push(known);
      if (isShown) rows.push(row.json);
      if (rows.length + gone.length >= ROWS_AT_ONCE) break;
    }
    await this.#send(rowsText(rows, gone));
  }

  async #announce(): Promise<void> {
    const time = instantText(this.#sources.now());
    const id = this.reader.filter.events ? this.#covered : undefined;
    await this.#send(messageText('ready', JSON.stringify({ cursor: this.#covered, time }), id));
    this.#announced = true;
  }

  async #replay(): Promise<void> {
    const { tail } = this.#sources;
    const { filter } = this.reader;
    const cursor = tail.cursor;
    const { events, upTo, complete } = await tail.since(this.#covered, filter);
    let text = '';
    for (const event of events) {
      if (this.#blockedSince !== null || this.#isOver) return;
      if (wantsEvent(filter, event)) text += event.text;
      if (text.length < FRAME_BYTES) continue;
      await this.#send(text);
      this.#covered = event.seq;
      text = '';
    }
    if (this.#blockedSince !== null || this.#isOver) return;
    await this.#send(text);
    this.#covered = upTo;
    // Otherwise a frame was offered, and left to this replay, while the log was read.
    if (complete && tail.cursor === cursor) this.#catchingUp = false;
  }

  async #send(text: string): Promise<void> {
    if (text === '') return;
    const frame = this.#sources.frames.of(text);
    const bytes = this.reader.packed ? await frame.packed() : frame.plain;
    if (!this.#isOver) this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    const now = this.#sources.now();
    this.#wroteAt = now;
    if (!this.reader.sink.write(bytes)) this.#blockedSince ??= now;
  }
}

export const rowsText = (rows: readonly string[], gone: readonly string[]): string =>
  `${gone.length === 0 ? '' : messageText('gone', JSON.stringify(gone))}${
    rows.length === 0 ? '' : messageText('nodes', `[${rows.join(',')}]`)
  }`;
