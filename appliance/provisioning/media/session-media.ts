// The media of network boots: makes one for each boot that needs it, has the BMC insert it, serves it to that BMC only, and has it ejected
// when its secret was used or can no longer be. Each is in the store before the BMC hears of it, so that a new process ejects it.

import { createHash } from 'node:crypto';
import { MEDIUM_PATH, mediumNameIn, mediumPath } from '../../boot/boot-paths.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import type { RequiredIdentity } from '../../domain/hardware-identity.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { MediumMark, SessionMedium } from '../../domain/session-medium.ts';
import { emptyChange } from '../../machines/commands/decision.ts';
import type { Write } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import { mediumEvent } from '../sessions/session-records.ts';
import type { SessionSeeds } from '../sessions/session-seeds.ts';
import { isMediumOver, mediumEnd, needsMedium } from './decide-medium.ts';
import { secretMedium } from './medium-image.ts';

export type DriveOutcome =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'unsupported'; readonly reason: string }
  | { readonly outcome: 'failed'; readonly reason: string; readonly unchanged: boolean };

/** The virtual drives of BMCs. */
export interface Drives {
  problem(machine: Machine): string | null;
  insert(machine: Machine, image: string, replaces: (image: string | null) => boolean): Promise<DriveOutcome>;
  eject(machine: Machine, which: (image: string | null) => boolean): Promise<DriveOutcome>;
}

export interface SessionMediaDeps {
  readonly store: Pick<Store, 'commit' | 'machine' | 'mediumOf' | 'mediumByPath' | 'unendedMedia' | 'subscribe'>;
  readonly drives: Drives;
  readonly seeds: Pick<SessionSeeds, 'newSalt' | 'mediumSeed' | 'mediumPath'>;
  readonly required: (machine: Machine) => RequiredIdentity;
  readonly now: () => Instant;
  readonly log: { error(fields: object, message: string): void };
}

/** Where BMCs fetch media. */
export interface MediaServer {
  /** The start of the URL for this BMC, or why it has none. A listener is open there when this resolves. */
  openFor(bmc: Ipv4): Promise<Parsed<string>>;
  /** No medium is in a drive any more. */
  idle(): Promise<void>;
}

export type Fetched =
  | { readonly outcome: 'image'; readonly image: Uint8Array; readonly name: string }
  | { readonly outcome: 'unknown' | 'refused' | 'too-often' };

/** BMCs that read a medium piece by piece make some hundred requests for it. */
const MOST_REQUESTS = 2000;
const FIRST_RETRY = 15 * SECOND;
const LONGEST_RETRY = 15 * MINUTE;
const MOST_RETRIES = 30;

interface Retry {
  readonly tries: number;
  readonly notBefore: Instant;
}

export class SessionMedia {
  readonly #deps: SessionMediaDeps;
  /** The machines whose medium may be in the drive. */
  readonly #open = new Set<MachineId>();
  readonly #turns = new Map<MachineId, Promise<unknown>>();
  readonly #retries = new Map<MachineId, Retry>();
  /** Requests for each medium, by the hash of its path. */
  readonly #requests = new Map<string, number>();
  /** A BMC reads one in many pieces. */
  #last: { readonly salt: string; readonly image: Uint8Array } | null = null;
  readonly #server = Promise.withResolvers<MediaServer>();
  readonly #unsubscribe: () => void;

  private constructor(deps: SessionMediaDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.store.subscribe(({ change }) => {
      if (change === null || this.#open.has(change.machine)) void this.look();
    });
  }

  static async open(deps: SessionMediaDeps): Promise<SessionMedia> {
    const media = new SessionMedia(deps);
    for (const { machine } of await deps.store.unendedMedia()) media.#open.add(machine);
    return media;
  }

  /** No medium is made before this. */
  serveWith(server: MediaServer): void {
    this.#server.resolve(server);
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** Before the machine boots from the network. A medium that cannot be inserted is an event, and no reason not to boot. */
  async place(machine: Machine, correlationId: string | null): Promise<void> {
    if (!needsMedium(machine, this.#deps.required(machine))) return;
    const server = await this.#server.promise;
    await this.#inTurn(machine.id, () => this.#place(machine, correlationId, server));
  }

  /** Ejects what is over. Called after each change of a machine with a medium, and from time to time. Never rejects. */
  async look(): Promise<void> {
    const { now } = this.#deps;
    await Promise.all(
      [...this.#open].map(async (id) => {
        if ((this.#retries.get(id)?.notBefore ?? 0) > now() || this.#turns.has(id)) return;
        await this.#inTurn(id, () => this.#withdraw(id)).catch((error: unknown) =>
          this.#deps.log.error({ err: error, machine: id }, 'a medium could not be withdrawn; it will be tried again'),
        );
      }),
    );
  }

  /** `reads`: the request is for the content, not only for its size. */
  async fetch(name: string, address: Ipv4 | null, reads: boolean): Promise<Fetched> {
    const { store, now } = this.#deps;
    const medium = await store.mediumByPath(hashOf(name));
    const machine = medium && (await this.#machine(medium.machine));
    if (medium === null || machine === null) return { outcome: 'unknown' };
    const isOver = isMediumOver(medium, machine, now());
    if (address !== medium.bmc) {
      const reason = isOver ? 'it is over' : `only the BMC ${medium.bmc} may fetch it`;
      await this.#record(machine, [], 'medium.refused', { address, reason }, `machine:${machine.spec.hostname}`);
      return { outcome: 'refused' };
    }
    if (isOver) return { outcome: 'unknown' };
    const requests = (this.#requests.get(medium.pathHash) ?? 0) + 1;
    this.#requests.set(medium.pathHash, requests);
    if (requests > MOST_REQUESTS) return { outcome: 'too-often' };
    if (reads && medium.fetchedAt === null) {
      await this.#mark(machine, medium, 'fetched', 'medium.fetched', { address: medium.bmc });
    }
    return { outcome: 'image', image: this.#image(medium), name: medium.pathHash };
  }

  #image({ salt, madeAt }: SessionMedium): Uint8Array {
    this.#last =
      this.#last?.salt === salt ? this.#last : { salt, image: secretMedium(this.#deps.seeds.mediumSeed(salt), madeAt) };
    return this.#last.image;
  }

  async #place(machine: Machine, correlationId: string | null, server: MediaServer): Promise<void> {
    const { store, drives, seeds, now } = this.#deps;
    const bmc = machine.spec.bmc?.address ?? null;
    const problem = drives.problem(machine);
    const origin = problem === null && bmc !== null ? await server.openFor(bmc) : null;
    if (bmc === null || problem !== null || origin === null || !origin.ok) {
      const reason = problem ?? (origin?.ok === false ? origin.reason : 'no BMC is declared for it');
      return this.#record(machine, [], 'medium.unavailable', { reason }, undefined, correlationId);
    }
    const hadOne = this.#open.has(machine.id);
    const salt = seeds.newSalt();
    const name = seeds.mediumPath(salt);
    const madeAt = now();
    const medium: SessionMedium = {
      ...{ machine: machine.id, salt, pathHash: hashOf(name), bmc, madeAt },
      since: machine.lifecycle.since,
      expiresAt: mediumEnd(machine, madeAt),
      ...{ insertedAt: null, fetchedAt: null, usedBy: null, endedAt: null },
    };
    this.#open.add(machine.id);
    this.#retries.delete(machine.id);
    await store.commit({ ...emptyChange(machine, madeAt), version: null, writes: [{ kind: 'put-medium', medium }] });
    const replaces = (image: string | null): boolean => (image === null ? hadOne : isOurs(image));
    const inserted = await drives.insert(machine, `${origin.value}${mediumPath(name)}`, replaces);
    if (inserted.outcome === 'done') {
      return this.#mark(machine, medium, 'inserted', 'medium.inserted', { address: bmc }, correlationId);
    }
    // A BMC repeats the URL in its messages.
    const data = { reason: inserted.reason.replaceAll(name, '…') };
    const kind = inserted.outcome === 'failed' ? 'medium.failed' : 'medium.unavailable';
    if (inserted.outcome === 'unsupported' || inserted.unchanged) {
      await this.#mark(machine, medium, 'ended', kind, data, correlationId);
      return this.#settled(machine.id, medium.pathHash);
    }
    await this.#record(machine, [], kind, data, undefined, correlationId);
    await this.#eject(machine, medium);
  }

  /** From the store: an older version in memory would look like a machine that has left its state. Null: removed. */
  async #machine(id: MachineId): Promise<Machine | null> {
    const machine = await this.#deps.store.machine(id);
    return machine?.lifecycle.state === 'removed' ? null : machine;
  }

  async #withdraw(id: MachineId): Promise<void> {
    const medium = await this.#deps.store.mediumOf(id);
    const machine = await this.#machine(id);
    if (medium === null || medium.endedAt !== null) return this.#settled(id, medium?.pathHash ?? null);
    if (!isMediumOver(medium, machine, this.#deps.now())) return;
    // Its BMC may belong to another machine already.
    if (machine === null) return this.#giveUp({ id, version: 0 }, medium, 'the node is removed');
    const problem = this.#deps.drives.problem(machine);
    return problem === null ? this.#eject(machine, medium) : this.#giveUp(machine, medium, problem);
  }

  async #eject(machine: Machine, medium: SessionMedium): Promise<void> {
    const { drives, now } = this.#deps;
    const ejected = await drives.eject(machine, (image) => image === null || isOurs(image));
    if (ejected.outcome === 'done') {
      await this.#mark(machine, medium, 'ended', 'medium.ejected', { address: medium.bmc });
      return this.#settled(machine.id, medium.pathHash);
    }
    const tries = (this.#retries.get(machine.id)?.tries ?? 0) + 1;
    if (tries > MOST_RETRIES) return this.#giveUp(machine, medium, ejected.reason);
    const wait = Math.min(FIRST_RETRY * 2 ** (tries - 1), LONGEST_RETRY);
    this.#retries.set(machine.id, { tries, notBefore: now() + wait });
    const reason = ejected.reason.replace(/\/boot\/medium\/\S*/g, `${MEDIUM_PATH}…`);
    if (tries === 1) await this.#record(machine, [], 'medium.not-ejected', { reason, given_up: false });
  }

  async #giveUp(machine: Pick<Machine, 'id' | 'version'>, medium: SessionMedium, reason: string): Promise<void> {
    await this.#mark(machine, medium, 'ended', 'medium.not-ejected', { reason, given_up: true });
    return this.#settled(machine.id, medium.pathHash);
  }

  async #settled(id: MachineId, pathHash: string | null): Promise<void> {
    this.#open.delete(id);
    this.#retries.delete(id);
    if (pathHash !== null) this.#requests.delete(pathHash);
    if (this.#open.size === 0) await (await this.#server.promise).idle();
  }

  #mark<Kind extends MediumEventKind>(
    machine: Pick<Machine, 'id' | 'version'>,
    { salt }: SessionMedium,
    mark: MediumMark,
    kind: Kind,
    data: EventData<Kind>,
    correlationId: string | null = null,
  ): Promise<void> {
    const writes: Write[] = [{ kind: 'mark-medium', salt, mark, at: this.#deps.now() }];
    return this.#record(machine, writes, kind, data, undefined, correlationId);
  }

  /** A mark that was set meanwhile is refused, and its event with it. */
  async #record<Kind extends MediumEventKind>(
    machine: Pick<Machine, 'id' | 'version'>,
    writes: readonly Write[],
    kind: Kind,
    data: EventData<Kind>,
    actor?: string,
    correlationId: string | null = null,
  ): Promise<void> {
    const at = this.#deps.now();
    const events = [mediumEvent({ at, machine, correlationId }, kind, data, actor)];
    await this.#deps.store.commit({ ...emptyChange(machine, at), version: null, writes, events });
  }

  /** One after the other for each machine. */
  async #inTurn(id: MachineId, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(work);
    this.#turns.set(id, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }
}

type MediumEventKind = Extract<EventKind, `medium.${string}`>;

const hashOf = (name: string): string => createHash('sha256').update(name).digest('hex');

const isOurs = (image: string | null): boolean =>
  image !== null && URL.canParse(image) && mediumNameIn(new URL(image).pathname) !== null;
