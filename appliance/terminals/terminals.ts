// The terminals of nodes. A person opens one on a node that is allocated to them; the node is told by a signed task and connects from its
// side with its certificate and the id of the terminal. Each end of the allocation, of the node or of its certificate ends it.

import type { Readable, Writable } from 'node:stream';
import { type AccessCaller, mustOwn } from '../allocations/access-changes.ts';
import { type Allocation, allocationText } from '../domain/allocation.ts';
import { ColdironError } from '../domain/errors.ts';
import { newEvent, type Origin } from '../domain/event.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import { isOver } from '../domain/task.ts';
import { eligibilityOf } from '../identity/node-eligibility.ts';
import { certificateRefusal } from '../identity/node-peer.ts';
import type { TaskQueue } from '../identity/task-queue.ts';
import type { CertificateRecord } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import { closedRecords, openedRecords, type Records, unclosed } from './records.ts';
import type { TerminalSettings } from './settings.ts';
import { Terminal, type TerminalClock } from './terminal.ts';

export interface TerminalsDeps {
  readonly store: Pick<
    Store,
    'machine' | 'certificate' | 'authorities' | 'appendEvents' | 'appendAudit' | 'events' | 'subscribe'
  >;
  readonly tasks: Pick<TaskQueue, 'run' | 'outcome' | 'cancel'>;
  readonly clock: TerminalClock;
  readonly newId: () => string;
  readonly settings: TerminalSettings;
  readonly logger: { error(fields: object, message: string): void };
}

export interface TerminalWish {
  /** Null: the one that the node has. */
  readonly allocation: string | null;
  /** The kind of the viewer's terminal, for the variable TERM. */
  readonly term: string;
  /** The viewer left. */
  readonly gone: AbortSignal;
}

/** A node, identified by the certificate of its connection. */
export interface TerminalNode {
  readonly machine: Machine;
  readonly certificate: CertificateRecord;
}

/** The node has its task within a second, unless it is running another one. */
const OPEN_WITHIN = 30 * SECOND;
/** More than can be open at once. */
const EVENTS_READ = 2000;

export class Terminals {
  readonly #deps: TerminalsDeps;
  readonly #open = new Map<string, Terminal>();
  readonly #records = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  #stopped = false;

  constructor(deps: TerminalsDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.store.subscribe(({ machine }) => {
      if (machine === null) void this.check().catch((error: unknown) => this.#failed(error));
      else for (const terminal of this.#of(machine.id)) this.#endIf(terminal, problemOf(machine, terminal));
    });
  }

  /** Those that are open or being opened. */
  list(): readonly Terminal[] {
    return [...this.#open.values()];
  }

  /** Resolves when the node has connected. Every refusal is an event and audited. */
  async open(machine: Machine, wish: TerminalWish, caller: AccessCaller): Promise<Terminal> {
    const began = this.#deps.clock.now();
    try {
      const terminal = this.#admit(machine, wish, caller);
      await this.#connect(machine, terminal, wish);
      const at = this.#deps.clock.now();
      await this.#write(openedRecords({ about: terminal.about, at }, at - began));
      terminal.openedAt = at;
      // It may have ended meanwhile.
      if (terminal.over !== null) this.#onOver(terminal);
      return terminal;
    } catch (error) {
      if (error instanceof ColdironError) await this.#refused(machine, error.message, caller.origin);
      throw error;
    }
  }

  /** By whoever opened it, the user of the allocation, and admins. */
  async close(id: string, caller: AccessCaller): Promise<Terminal> {
    const terminal = this.#open.get(id);
    if (!terminal) {
      const hint = 'List them: coldiron terminals list';
      throw new ColdironError('not_found', `there is no open terminal ${shown(id)}`, [], hint);
    }
    const { user, origin } = terminal.about;
    if (origin.actor !== caller.origin.actor) mustOwn(caller, [user as string as ObjectName]);
    terminal.end(`${caller.origin.actor} closed it`);
    await this.settled();
    return terminal;
  }

  /** The stream of what is typed, for the node. */
  takeInput(node: TerminalNode, id: string, input: Writable): void {
    if (!this.#find(node, id).takeInput(input, node.certificate.fingerprint)) throw taken(id);
  }

  /** Resolves when everything was read that will be. */
  takeOutput(node: TerminalNode, id: string, output: Readable): Promise<void> {
    const read = this.#find(node, id).takeOutput(output, node.certificate.fingerprint);
    if (read === null) throw taken(id);
    return read;
  }

  reportStatus(node: TerminalNode, id: string, status: number): void {
    this.#find(node, id).reportStatus(status);
  }

  /** Compares every terminal with its node, and its certificate with the store. */
  async check(): Promise<void> {
    for (const terminal of this.list()) {
      const machine = await this.#deps.store.machine(terminal.about.machine);
      this.#endIf(terminal, machine === null ? 'the node was removed' : problemOf(machine, terminal));
      for (const fingerprint of terminal.certificates) {
        const refusal = await certificateRefusal(this.#deps.store, fingerprint, this.#deps.clock.now());
        this.#endIf(
          terminal,
          refusal === null ? null : `the certificate of the node is not accepted any more: ${refusal}`,
        );
      }
    }
  }

  /** A process that was killed could not record the end of its terminals. */
  async start(): Promise<void> {
    const { store, clock } = this.#deps;
    const events = await store.events({ kind: 'terminal', limit: EVENTS_READ, newest: true });
    for (const record of unclosed(events)) {
      const machine = await store.machine(record.machine);
      await this.#write(record.closed(clock.now(), machine?.spec.hostname ?? record.machine));
    }
  }

  /** Everything that ended is recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#records);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    for (const terminal of this.list()) terminal.end('the appliance is stopping');
    await this.settled();
  }

  #admit(machine: Machine, { allocation: wanted }: TerminalWish, caller: AccessCaller): Terminal {
    const { spec, allocation } = machine;
    if (this.#stopped) throw new ColdironError('service_unavailable', 'the appliance is stopping');
    const { tasks, because } = eligibilityOf(machine.lifecycle);
    if (!tasks || machine.lifecycle.state !== 'active') {
      throw new ColdironError('conflict', `there is no terminal on ${spec.hostname}: ${because}`);
    }
    if (!allocation) throw nobodyHas(spec.hostname);
    if (wanted !== null && wanted !== allocation.id) {
      throw new ColdironError(
        'conflict',
        `${spec.hostname} is not held by ${shown(wanted)}, but by ${allocationText(allocation)}`,
      );
    }
    mustUse(caller, allocation, spec.hostname);
    if (allocation.state !== 'active') {
      throw new ColdironError(
        'conflict',
        `${allocationText(allocation)} has no account on ${spec.hostname} yet, or not any more`,
      );
    }
    if (machine.health !== 'online') {
      const hint = `Find out why: coldiron diagnose ${spec.hostname}`;
      throw new ColdironError(
        'service_unavailable',
        `${spec.hostname} is silent: its agent sends no heartbeats`,
        [],
        hint,
      );
    }
    this.#mustHaveRoom(machine);
    const { newId, clock, settings } = this.#deps;
    const about = { id: newId(), machine: machine.id, hostname: spec.hostname, allocation: allocation.id };
    const terminal = new Terminal({ ...about, user: allocation.user, origin: caller.origin }, clock, settings, (over) =>
      this.#onOver(over),
    );
    this.#open.set(about.id, terminal);
    return terminal;
  }

  #mustHaveRoom({ id, spec }: Machine): void {
    const { perNode, inTotal } = this.#deps.settings;
    const hint = 'Close one: coldiron terminals list, then coldiron terminals close ID';
    if (this.#of(id).length >= perNode) {
      throw new ColdironError('conflict', `${spec.hostname} has ${perNode} terminals open already`, [], hint);
    }
    if (this.#open.size >= inTotal) {
      throw new ColdironError('conflict', `${inTotal} terminals are open already`, [], hint);
    }
  }

  /** The task is signed: without it, the agent opens nothing, whoever answers its requests. */
  async #connect(machine: Machine, terminal: Terminal, { term, gone }: TerminalWish): Promise<void> {
    const { tasks, clock } = this.#deps;
    const { id, allocation, user, origin, hostname } = terminal.about;
    const fail = (because: string): never => {
      terminal.end(because);
      throw new ColdironError('service_unavailable', because, [], `Find out why: coldiron diagnose ${hostname}`);
    };
    const late = `${hostname} did not open a terminal within ${OPEN_WITHIN / SECOND} s`;
    const timer = clock.setTimer(OPEN_WITHIN, () => terminal.end(late));
    const leave = (): void => terminal.end('the viewer left');
    gone.addEventListener('abort', leave);
    const parameters = { allocation, user, terminal: id, term };
    try {
      const task = await tasks.run(machine, { kind: 'open-terminal', parameters, within: OPEN_WITHIN }, origin);
      void tasks.outcome(task.id, OPEN_WITHIN, terminal.signal).then(
        (ended) => {
          if (ended && isOver(ended.state) && ended.state !== 'succeeded') {
            terminal.end(
              `${hostname} opens no terminal: ${ended.result?.output.trim().split('\n').at(-1) ?? ended.state}`,
            );
          }
        },
        (error: unknown) => this.#failed(error),
      );
      await terminal.connected.catch(async () => {
        await tasks.cancel(task, 'the terminal is not wanted any more', origin);
        fail(terminal.over?.because ?? late);
      });
    } catch (error) {
      terminal.end(error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      timer.cancel();
      gone.removeEventListener('abort', leave);
    }
  }

  #of(machine: MachineId): Terminal[] {
    return this.list().filter(({ about }) => about.machine === machine);
  }

  /** An id of another node is as unknown as one that never was. */
  #find({ machine }: TerminalNode, id: string): Terminal {
    const terminal = this.#open.get(id);
    if (terminal?.about.machine !== machine.id) {
      throw new ColdironError('not_found', 'this node has no such terminal');
    }
    return terminal;
  }

  #endIf(terminal: Terminal, problem: string | null): void {
    if (problem !== null) terminal.end(problem);
  }

  #onOver(terminal: Terminal): void {
    this.#open.delete(terminal.about.id);
    // Not opened: the refusal is recorded instead.
    if (terminal.openedAt === null) return;
    const recorded = this.#write(closedRecords(terminal, terminal.openedAt, this.#deps.clock.now()))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#records.delete(recorded));
    this.#records.add(recorded);
  }

  async #write({ events, audit }: Records): Promise<void> {
    await this.#deps.store.appendAudit(audit);
    await this.#deps.store.appendEvents(events);
  }

  async #refused({ id, spec, allocation }: Machine, reason: string, { actor, correlationId }: Origin): Promise<void> {
    const at: Instant = this.#deps.clock.now();
    const data = { allocation: allocation?.id ?? null, reason };
    const entry = { action: 'terminal.refused', target: `node:${spec.hostname}`, before: null, after: data };
    await this.#write({
      audit: [{ at, actor, correlationId, ...entry }],
      events: [newEvent({ at, actor, correlationId, machine: id }, 'terminal.refused', data)],
    });
  }

  #failed(error: unknown): void {
    this.#deps.logger.error({ err: error }, 'a terminal could not be checked or recorded');
  }
}

const taken = (id: string): ColdironError =>
  new ColdironError('conflict', `this direction of the terminal ${shown(id)} is connected already`);

const nobodyHas = (hostname: string): ColdironError =>
  new ColdironError(
    'conflict',
    `nobody has an allocation of ${hostname}, and a terminal is opened as the user of an allocation`,
    [],
    `Request one: coldiron allocations request USER --node ${hostname}`,
  );

function mustUse(caller: AccessCaller, { user, id }: Allocation, hostname: string): void {
  try {
    mustOwn(caller, [user as string as ObjectName]);
  } catch {
    throw new ColdironError(
      'forbidden',
      `${hostname} is allocated to ${user} (allocation ${id})`,
      [],
      'Only the user of the allocation and admins may open a terminal on it.',
    );
  }
}

/** Why an open terminal must not go on; null: it may. */
function problemOf({ lifecycle, allocation, health }: Machine, { about }: Terminal): string | null {
  if (lifecycle.state !== 'active') return `the node is ${lifecycle.state}`;
  if (allocation?.id !== about.allocation) return 'the allocation is over';
  if (allocation.state !== 'active') return `the allocation is ${allocation.state}`;
  return health === 'silent' ? 'the node is silent' : null;
}
