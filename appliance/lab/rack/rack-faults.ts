// The faults that are on: each is put in, listed and taken out again.

import { ColdironError } from '../../domain/errors.ts';
import {
  type CheckedFault,
  checkFault,
  FAULTS,
  type FaultKind,
  type FaultRequest,
  faultAmount,
  WHOLE_NETWORK,
} from './faults.ts';
import type { RackNetwork } from './network.ts';
import { cutWhenPrinted, cutWhenWritten } from './power-cut.ts';
import type { ProcessRecords } from './process-records.ts';
import type { RackBmc } from './rack-bmc.ts';
import type { RackSlot } from './rack-slot.ts';
import { startRogueDhcp } from './rogue-dhcp.ts';
import { VirtualServer } from './virtual-server.ts';
import { type Begun, blockFrames, loseBmcPackets, loseFrames, slowDown, type Undo } from './wire-faults.ts';

export interface ActiveFault {
  readonly target: string;
  readonly kind: FaultKind;
  readonly amount: string;
  readonly means: string;
  /** What this kernel cannot do, and what happens instead. */
  readonly note: string;
  readonly since: string;
}

interface Surroundings {
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly slots: ReadonlyMap<string, RackSlot>;
}

const MEBIBYTE = 1024 * 1024;
const EVERY_TAP = 'tap*';

export class RackFaults {
  readonly #rack: Surroundings;
  readonly #active = new Map<string, { readonly fault: ActiveFault; readonly undo: Undo }>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(rack: Surroundings) {
    this.#rack = rack;
  }

  list(): readonly ActiveFault[] {
    return [...this.#active.values()].map(({ fault }) => fault);
  }

  /** One that is on already is put in anew, with the new value; taking out what is not on is no mistake. */
  change(request: FaultRequest): Promise<void> {
    const turn = this.#turn.then(() => this.#change(request));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async endAll(): Promise<void> {
    await this.#turn;
    for (const key of [...this.#active.keys()]) await this.#end(key);
  }

  async #change(request: FaultRequest): Promise<void> {
    const { target, kind } = request;
    const slots = this.#slotsOf(target);
    const key = `${target} ${kind}`;
    if (!request.on) return await this.#end(key);
    const checked = checkFault(request);
    await this.#end(key);
    const { undo, note } = await this.#begin(checked, slots, key);
    const since = new Date().toISOString();
    const fault = { target, kind, amount: faultAmount(checked), means: FAULTS[kind].means, note, since };
    this.#active.set(key, { fault, undo });
  }

  async #end(key: string): Promise<void> {
    const active = this.#active.get(key);
    this.#active.delete(key);
    await active?.undo();
  }

  #slotsOf(target: string): readonly RackSlot[] {
    const { slots } = this.#rack;
    if (target === WHOLE_NETWORK) return [...slots.values()];
    const slot = slots.get(target);
    if (slot) return [slot];
    const names = [...slots.keys(), WHOLE_NETWORK].join(', ');
    throw new ColdironError('not_found', `nothing in this rack is called ${target}; there are ${names}`);
  }

  async #begin(fault: CheckedFault, slots: readonly RackSlot[], key: string): Promise<Begun> {
    if (fault.kind === 'slow') return await slowDown(this.#rack.network, tapsOf(slots), fault.amount);
    return { undo: await this.#beginExactly(fault, slots, key), note: '' };
  }

  #beginExactly(
    fault: Exclude<CheckedFault, { kind: 'slow' }>,
    slots: readonly RackSlot[],
    key: string,
  ): Promise<Undo> {
    const { network, records } = this.#rack;
    switch (fault.kind) {
      case 'loss':
        return each(portsOf(fault.target, slots), (tap) => loseFrames(network, tap, fault.amount));
      case 'stp':
        return this.#holdPorts(slots, fault.amount * 1000);
      case 'rogue-dhcp':
        return startRogueDhcp(network, records);
      case 'power-cut':
        return this.#cutPower(fault, only(slots), key);
      case 'disk-readonly':
        return change(serverOf(only(slots)).faults, { diskReadOnly: true }, { diskReadOnly: false });
      case 'disk-small':
        return change(
          serverOf(only(slots)).faults,
          { diskShownBytes: fault.amount * MEBIBYTE },
          { diskShownBytes: null },
        );
      default:
        return this.#beginAtBmc(fault, only(slots));
    }
  }

  async #beginAtBmc({ kind, amount }: { kind: FaultKind; amount: number }, slot: RackSlot): Promise<Undo> {
    const bmc = bmcOf(slot);
    switch (kind) {
      case 'bmc-hangs':
        bmc.hang();
        return async () => bmc.resume();
      case 'bmc-gone':
        await bmc.kill();
        return () => bmc.revive();
      case 'bmc-loss':
        return await loseBmcPackets(this.#rack.network, slot.machine.number, amount);
      case 'bmc-ignores-power':
        return await change(slot, { bmcIgnoresPower: true }, { bmcIgnoresPower: false });
      case 'bmc-ignores-boot':
        return await change(serverOf(slot).faults, { ignoresBootFlag: true }, { ignoresBootFlag: false });
      default:
        throw new Error(`${kind} is no fault of a BMC`);
    }
  }

  /** From each power-on the ports stay shut for a while, as a switch keeps them that looks for loops first. */
  async #holdPorts(slots: readonly RackSlot[], milliseconds: number): Promise<Undo> {
    const undos = slots.map((slot) => this.#holdPortsOf(slot, milliseconds));
    return async () => {
      for (const undo of undos) await undo();
    };
  }

  #holdPortsOf(slot: RackSlot, milliseconds: number): Undo {
    const { faults } = serverOf(slot);
    let release: Undo = async () => {};
    let timer: NodeJS.Timeout | undefined;
    faults.beforePowerOn = async () => {
      clearTimeout(timer);
      await release();
      const opened = await each(slot.taps, (tap) => blockFrames(this.#rack.network, tap));
      release = once(opened);
      timer = setTimeout(() => void release().catch(() => undefined), milliseconds);
    };
    return async () => {
      faults.beforePowerOn = null;
      clearTimeout(timer);
      await release();
    };
  }

  async #cutPower(fault: CheckedFault & { kind: 'power-cut' }, slot: RackSlot, key: string): Promise<Undo> {
    const server = serverOf(slot);
    const cut = (): void => {
      this.#active.delete(key);
      void server.powerOff().catch(() => undefined);
    };
    const end =
      fault.file === null
        ? cutWhenPrinted(slot.serial, fault.pattern, cut)
        : await cutWhenWritten(fault.file, fault.pattern, cut);
    return async () => end();
  }
}

function serverOf({ server, machine }: RackSlot): VirtualServer {
  if (server instanceof VirtualServer) return server;
  throw new ColdironError('conflict', `${machine.name} is only written down: this rack's bmc_mode is recorder`);
}

const portsOf = (target: string, slots: readonly RackSlot[]): readonly string[] =>
  target === WHOLE_NETWORK ? [EVERY_TAP] : tapsOf(slots);

const tapsOf = (slots: readonly RackSlot[]): readonly string[] =>
  slots.flatMap((slot) => (serverOf(slot) ? slot.taps : []));

function bmcOf({ bmc, machine }: RackSlot): RackBmc {
  if (bmc) return bmc;
  throw new ColdironError('conflict', `${machine.name} has no BMC: this rack's bmc_mode is disabled`);
}

function only(slots: readonly RackSlot[]): RackSlot {
  const [slot] = slots;
  if (!slot) throw new Error('a fault of a machine without one');
  return slot;
}

async function change<T extends object>(what: T, fault: Partial<T>, sound: Partial<T>): Promise<Undo> {
  Object.assign(what, fault);
  return async () => void Object.assign(what, sound);
}

async function each(taps: readonly string[], begin: (tap: string) => Promise<Undo>): Promise<Undo> {
  const undos: Undo[] = [];
  for (const tap of taps) undos.push(await begin(tap));
  return async () => {
    for (const undo of undos) await undo();
  };
}

function once(undo: Undo): Undo {
  let done: Promise<void> | null = null;
  return () => {
    done ??= undo();
    return done;
  };
}
