// Terminals over a real store and a clock of the test, with a node of the test on the other side.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { expect } from 'vitest';
import type { AccessCaller } from '../../appliance/allocations/access-changes.ts';
import { FrameReader, frameBytes, type TerminalFrame } from '../../appliance/contract/terminal-frames.ts';
import { type Allocation, parseAllocationId, parseUserName } from '../../appliance/domain/allocation.ts';
import { type LifecycleState, lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { Task, TaskState } from '../../appliance/domain/task.ts';
import { emptyChange } from '../../appliance/machines/commands/decision.ts';
import type { CertificateRecord, Fingerprint } from '../../appliance/store/enrollment-store.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { DEFAULT_TERMINAL_SETTINGS, type TerminalSettings } from '../../appliance/terminals/settings.ts';
import type { Terminal } from '../../appliance/terminals/terminal.ts';
import { Terminals } from '../../appliance/terminals/terminals.ts';
import { FakeClock } from '../machines/fake-clock.ts';
import { addMachine, NOW } from '../store/samples.ts';

export const ALICE: AccessCaller = { origin: { actor: 'token:alice', correlationId: 'c-1' }, role: 'operator' };
export const BOB: AccessCaller = { origin: { actor: 'token:bob', correlationId: 'c-2' }, role: 'operator' };
export const ADMIN: AccessCaller = { origin: { actor: 'local:ada', correlationId: 'c-3' }, role: 'admin' };
export const SIZE = { rows: 24, columns: 80 };

export class TerminalRig {
  readonly #folder: string;
  readonly clock = new FakeClock(NOW);
  readonly store: Store;
  readonly terminals: Terminals;
  machine: Machine;
  /** Of the tasks that were created. */
  readonly parameters: Task['parameters'][] = [];
  #asked = 0;
  cancelled = 0;
  certificate: Pick<CertificateRecord, 'fingerprint' | 'revokedAt'> = {
    fingerprint: 'f1' as Fingerprint,
    revokedAt: null,
  };
  /** How the task of a terminal ends. */
  outcome: { state: TaskState; output: string } = { state: 'succeeded', output: 'begins' };

  private constructor(folder: string, store: Store, machine: Machine, settings: Partial<TerminalSettings>) {
    this.#folder = folder;
    this.store = store;
    this.machine = machine;
    this.terminals = new Terminals({
      store: Object.create(store, {
        certificate: { value: async () => ({ notBefore: 0, notAfter: NOW * 2, authority: 'a', ...this.certificate }) },
        authorities: { value: async () => [] },
        events: { value: store.events.bind(store) },
      }) as Store,
      tasks: {
        run: async (_machine, { parameters }) => {
          this.parameters.push(parameters);
          return { id: randomUUID() } as unknown as Task;
        },
        outcome: async () =>
          ({ state: this.outcome.state, result: { output: this.outcome.output } }) as unknown as Task,
        cancel: async () => {
          this.cancelled += 1;
          return true;
        },
      },
      clock: { now: () => this.clock.now(), setTimer: (delay, run) => this.clock.setTimer(delay, run) },
      newId: randomUUID,
      settings: { ...DEFAULT_TERMINAL_SETTINGS, ...settings },
      logger: {
        error: (fields, message) => {
          throw new Error(message, { cause: fields });
        },
      },
    });
  }

  static async open(settings: Partial<TerminalSettings> = {}): Promise<TerminalRig> {
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-terminals-'));
    const store = await openSqliteStore({ file: join(folder, 'coldiron.db') });
    const rig = new TerminalRig(folder, store, await addMachine(store, 1), settings);
    await rig.change({ state: 'active', health: 'online', allocation: 'active' });
    return rig;
  }

  async end(): Promise<void> {
    await this.terminals.stop();
    await this.store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async change({
    state,
    health,
    allocation,
  }: {
    state?: LifecycleState;
    health?: 'online' | 'silent';
    allocation?: Allocation['state'];
  }): Promise<void> {
    const machine = await this.current();
    const at = this.clock.now();
    await this.store.commit({
      ...emptyChange(machine, at),
      ...(state !== undefined && { lifecycle: lifeIn(state, at) }),
      writes: [
        ...(health === undefined ? [] : [{ kind: 'set-health' as const, health }]),
        ...(allocation === undefined
          ? []
          : [
              {
                kind: 'put-allocation' as const,
                allocation: { ...(machine.allocation ?? newAllocation(at)), state: allocation },
                isOpen: allocation !== 'released',
              },
            ]),
      ],
    });
    this.machine = await this.current();
  }

  async current(): Promise<Machine> {
    return (await this.store.machine(this.machine.id)) ?? this.machine;
  }

  open(
    caller: AccessCaller = ALICE,
    allocation: string | null = null,
    gone = new AbortController().signal,
  ): Promise<Terminal> {
    return this.terminals.open(this.machine, { allocation, term: 'xterm', gone }, caller);
  }

  /** The node connects both directions of the newest terminal. */
  connect(machine: Machine = this.machine): NodeSide {
    const id = this.parameters.at(-1)?.terminal ?? '';
    const node = { machine, certificate: this.certificate as CertificateRecord };
    const [typed, shown] = [new PassThrough(), new PassThrough()];
    this.terminals.takeInput(node, id, typed);
    void this.terminals.takeOutput(node, id, shown);
    return { id, typed, shown, status: (status) => this.terminals.reportStatus(node, id, status) };
  }

  /** Opened and carried, with a viewer. */
  async carried(caller: AccessCaller = ALICE) {
    const opening = this.open(caller);
    await this.asked();
    const node = this.connect();
    const terminal = await opening;
    const viewer = new Viewer();
    const over = terminal.carry(viewer.far, SIZE);
    return { terminal, node, viewer, over };
  }

  /** The task of the next terminal was created. */
  async asked(): Promise<void> {
    this.#asked += 1;
    await expect.poll(() => this.parameters.length).toBeGreaterThanOrEqual(this.#asked);
  }

  async records(kind: string) {
    await this.terminals.settled();
    return this.store.events({ kind, limit: 100 });
  }
}

export interface NodeSide {
  readonly id: string;
  readonly typed: PassThrough;
  readonly shown: PassThrough;
  readonly status: (status: number) => void;
}

/** The viewer's end of a stream of frames, and the end that the appliance has. */
export class Viewer {
  readonly far: Duplex;
  readonly #toAppliance = new PassThrough();
  readonly #reader = new FrameReader();
  readonly frames: TerminalFrame[] = [];
  /** Bytes that the appliance has written and nobody has taken. */
  waiting = 0;
  #take: (() => void) | null = null;
  reads = true;

  constructor() {
    this.far = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        this.waiting += chunk.length;
        const take = (): void => {
          this.waiting -= chunk.length;
          this.frames.push(...this.#reader.push(chunk));
          done();
        };
        if (this.reads) take();
        else this.#take = take;
      },
    });
    this.#toAppliance.on('data', (bytes) => this.far.push(bytes));
    this.#toAppliance.on('end', () => this.far.push(null));
  }

  readAgain(): void {
    this.reads = true;
    this.#take?.();
  }

  type(text: string): void {
    this.#toAppliance.write(frameBytes({ kind: 'data', bytes: Buffer.from(text) }));
  }

  send(bytes: Uint8Array): void {
    this.#toAppliance.write(bytes);
  }

  leave(): void {
    this.#toAppliance.end();
  }

  get shown(): string {
    return Buffer.concat(
      this.frames.map((frame) => (frame.kind === 'data' ? frame.bytes : Buffer.alloc(0))),
    ).toString();
  }

  get exit(): TerminalFrame | null {
    return this.frames.find(({ kind }) => kind === 'exit') ?? null;
  }
}

/** The next text that the node is sent. */
export async function lines(typed: PassThrough): Promise<string> {
  if (typed.readableLength === 0) await once(typed, 'readable');
  return String(typed.read() ?? '');
}

const newAllocation = (at: number): Allocation => ({
  id: mustParse(parseAllocationId(randomUUID())),
  user: mustParse(parseUserName('alice')),
  ...{ keySet: null, sudo: null, state: 'active', since: at, deadline: null, attempt: 0, reason: null },
  ...{ requestedAt: at, requestedBy: 'token:alice' },
});
