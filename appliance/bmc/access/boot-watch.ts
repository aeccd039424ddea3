// Observes the trail for machines that boot from the network, and resolves the waiters for a machine.

import type { EventData } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { ObservableTrail, TrailNote } from '../../trail/trail.ts';

interface Waiting {
  readonly machine: MachineId;
  readonly since: Instant;
  readonly seen: (at: Instant) => void;
}

export class BootWatch {
  readonly #now: () => Instant;
  readonly #last = new Map<MachineId, Instant>();
  readonly #waiting = new Set<Waiting>();

  constructor(trail: ObservableTrail, now: () => Instant) {
    this.#now = now;
    trail.observe((note) => this.#onNote(note));
  }

  #onNote(note: TrailNote): void {
    if (note.machine === null || !showsNetworkBoot(note)) return;
    const at = this.#now();
    this.#last.set(note.machine, at);
    for (const waiting of [...this.#waiting]) {
      if (waiting.machine === note.machine && at >= waiting.since) waiting.seen(at);
    }
  }

  /** Time of the last request of the machine's firmware or boot loader, at or after `since`; null: none yet. */
  lastSeen(machine: MachineId, since: Instant): Instant | null {
    const last = this.#last.get(machine);
    return last !== undefined && last >= since ? last : null;
  }

  /** Resolves when the machine boots; rejects with the signal's reason when the wait is aborted. */
  async untilSeen(machine: MachineId, since: Instant, signal: AbortSignal): Promise<Instant> {
    const before = this.lastSeen(machine, since);
    if (before !== null) return before;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Instant>();
    const waiting: Waiting = { machine, since, seen: resolve };
    const abort = (): void => reject(signal.reason);
    this.#waiting.add(waiting);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await promise;
    } finally {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', abort);
    }
  }
}

type Discover = EventData<'dhcp.discover'>;

/** A DHCP request of an operating system is no network boot. */
const BOOT_PROGRAMS: ReadonlySet<Discover['program']> = new Set(['firmware-pxe', 'firmware-http', 'ipxe']);

export const isNetworkBoot = (discover: Pick<Discover, 'program'>): boolean => BOOT_PROGRAMS.has(discover.program);

/** Where another server answers DHCP, the appliance sees no packet: the script that the loader fetches is the first sign. */
const showsNetworkBoot = (note: TrailNote): boolean =>
  note.kind === 'http.script' || (note.kind === 'dhcp.discover' && isNetworkBoot(note.data));
