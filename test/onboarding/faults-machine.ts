// One machine of the rack for fault injection: its power is cut, its screen and its disk are read.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { VirtualServer } from '../../appliance/lab/rack/virtual-server.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { fairClock } from '../lab/rack/fair-clock.ts';
import { bootSector } from '../lab/rack/marked-disks.ts';
import { newEvent, transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import type { OnboardingRig, TrailEvent } from './rig.ts';

/** A stage takes seconds on an idle machine; tests may share it. */
const STAGE_WITHIN_MS = 900_000;
const LOOK_EVERY_MS = 200;
const BEGINNING = 1024 * 1024;
/** In kbit/s: half a mebibyte each second, so that the image `long` takes two minutes. */
const SLOW_LINK = '4000';

export class TroubledMachine {
  readonly #rig: OnboardingRig;
  readonly name: string;

  constructor(rig: OnboardingRig, name: string) {
    this.#rig = rig;
    this.name = name;
  }

  /** With its own button. */
  async powerOn(): Promise<void> {
    await this.#server.powerOn();
  }

  async powerOff(): Promise<void> {
    await this.#server.powerOff();
  }

  get isOn(): boolean {
    return this.#server.isOn;
  }

  get screen(): string {
    return this.#rig.console(this.name);
  }

  /** On its screen, since it was last switched on. */
  async shows(text: RegExp): Promise<void> {
    await this.#rig.rack
      .slot(this.name)
      .serial.console.waitFor(text, STAGE_WITHIN_MS, this.#clock())
      .catch(async (error: Error) => {
        throw new Error(await this.#rig.story(this.name, error.message));
      });
  }

  /** Cuts its power when this appears on its screen, or in a file, while `work` runs; it is off afterwards. */
  async cutWhile(work: () => Promise<unknown>, value: string, file?: string): Promise<void> {
    const { rack } = this.#rig;
    await rack.fault({ target: this.name, kind: 'power-cut', on: true, value, ...(file !== undefined && { file }) });
    await work();
    const isCut = (): boolean => !this.isOn && !rack.status().faults.some(({ kind }) => kind === 'power-cut');
    await this.until(isCut, `its power was to be cut at ${value}`);
  }

  /** Deploys the image `long` on a slow link, and calls this when a part of it is on the disk; the link is fast afterwards. */
  async whileWriting(deploy: () => Promise<unknown>, inTheMiddle: () => Promise<void>): Promise<void> {
    const before = await this.newest();
    await deploy();
    await this.until(() => this.isOn, 'its BMC was to switch it on');
    await this.shows(/coldiron: service OS on/);
    const slow = { target: this.name, kind: 'slow', value: SLOW_LINK } as const;
    await this.#rig.rack.fault({ ...slow, on: true });
    try {
      await this.happens(
        ({ kind, data }) => kind === 'session.step' && data.step === 'write-image' && Number(data.percent) > 0,
        before,
      );
      await inTheMiddle();
    } finally {
      await this.#rig.rack.fault({ ...slow, on: false });
    }
  }

  #clock(): () => number {
    return fairClock(() => this.#server.pid);
  }

  async until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const now = this.#clock();
    const deadline = now() + STAGE_WITHIN_MS;
    while (!(await isSo())) {
      if (now() > deadline) throw new Error(await this.#rig.story(this.name, `${what}, and that did not happen`));
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The newest event of its trail. */
  async newest(): Promise<number> {
    return (await this.#rig.trail(this.name)).at(-1)?.seq ?? 0;
  }

  happens(matches: (event: TrailEvent) => boolean, after: number): Promise<TrailEvent> {
    return this.#rig.waitForEvent(this.name, matches, STAGE_WITHIN_MS, after);
  }

  /** Puts it into this state directly, with the facts of a commissioning; the appliance is down meanwhile. */
  async put(state: LifecycleState, more: (store: Store) => Promise<void> = async () => {}): Promise<void> {
    await this.#rig.killAppliance();
    const store = await openSqliteStore({ file: join(this.#rig.state, 'coldiron.db') });
    try {
      const machine = (await store.inventory()).machines.find(({ spec }) => spec.hostname === this.name);
      if (!machine) throw new Error(`${this.name} is not in the store`);
      const { size: bytes } = await stat(this.#rig.disk(this.name));
      const facts = { disks: [{ name: 'vda', by_id: [], bytes, rotational: false, read_only: false }], nics: [] };
      const event = newEvent('session.facts', { machine: machine.id });
      await writesTo(store).putFacts(machine.id, { facts, at: Date.now() }, event);
      await writesTo(store).transition(transitionOf(machine, state));
      await more(store);
    } finally {
      await store.close();
    }
    await this.#rig.startAppliance();
  }

  /** Every byte is nonzero, and its first sector prints a text on the screen when it is booted. */
  async fillDisk(text: string): Promise<void> {
    await using disk = await open(this.#rig.disk(this.name), 'r+');
    const { size } = await disk.stat();
    await disk.write(Buffer.alloc(size, 'data that must not be lost '), 0, size, 0);
    await disk.write(bootSector(text), 0, 512, 0);
  }

  /** Whether boot sector, partitions and loader are empty: no firmware boots such a disk. */
  async diskBeginsEmpty(): Promise<boolean> {
    await using disk = await open(this.#rig.disk(this.name));
    const { buffer } = await disk.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    return buffer.every((byte) => byte === 0);
  }

  async diskSum(): Promise<string> {
    const sum = createHash('sha256');
    for await (const bytes of createReadStream(this.#rig.disk(this.name))) sum.update(bytes);
    return sum.digest('hex');
  }

  get #server(): VirtualServer {
    return this.#rig.server(this.name);
  }
}
