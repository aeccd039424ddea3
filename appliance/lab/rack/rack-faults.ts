// The active faults of a rack: adds, lists and removes them.

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
import type { RackTpm, TpmFault } from './rack-tpm.ts';
import { startRogueDhcp } from './rogue-dhcp.ts';
import { VirtualServer } from './virtual-server.ts';
import { blockFrames, loseBmcPackets, loseFrames, type StartedFault, slowDown, type Undo } from './wire-faults.ts';

export interface ActiveFault {
  readonly target: string;
  readonly kind: FaultKind;
  readonly amount: string;
  readonly means: string;
  /** What this kernel cannot do, and what happens instead. */
  readonly note: string;
  readonly since: string;
}

interface RackFaultsDeps {
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly slots: ReadonlyMap<string, RackSlot>;
}

const MEBIBYTE = 1024 * 1024;
const EVERY_TAP = 'tap*';
const UPDATED_FIRMWARE = 'updated-1';

export class RackFaults {
  readonly #deps: RackFaultsDeps;
  readonly #active = new Map<string, { readonly fault: ActiveFault; readonly undo: Undo }>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: RackFaultsDeps) {
    this.#deps = deps;
  }

  list(): readonly ActiveFault[] {
    return [...this.#active.values()].map(({ fault }) => fault);
  }

  /** Replaces a fault that is already active, with the new value; removing an inactive fault is no error. */
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
    const { slots } = this.#deps;
    if (target === WHOLE_NETWORK) return [...slots.values()];
    const slot = slots.get(target);
    if (slot) return [slot];
    const names = [...slots.keys(), WHOLE_NETWORK].join(', ');
    throw new ColdironError('not_found', `this rack has no ${target}; it has ${names}`);
  }

  async #begin(fault: CheckedFault, slots: readonly RackSlot[], key: string): Promise<StartedFault> {
    if (fault.kind === 'slow') return await slowDown(this.#deps.network, tapsOf(slots), fault.amount);
    return { undo: await this.#beginExactly(fault, slots, key), note: '' };
  }

  #beginExactly(
    fault: Exclude<CheckedFault, { kind: 'slow' }>,
    slots: readonly RackSlot[],
    key: string,
  ): Promise<Undo> {
    const { network, records } = this.#deps;
    switch (fault.kind) {
      case 'loss':
        return each(portsOf(fault.target, slots), (tap) => loseFrames(network, tap, fault.amount));
      case 'stp':
        return this.#holdPorts(slots, fault.amount * 1000);
      case 'rogue-dhcp':
        return startRogueDhcp(network, records);
      case 'power-cut':
        return this.#cutPower(fault, onlySlot(slots), key);
      case 'disk-readonly':
        return change(serverOf(onlySlot(slots)).faults, { diskReadOnly: true }, { diskReadOnly: false });
      case 'disk-small':
        return change(
          serverOf(onlySlot(slots)).faults,
          { diskShownBytes: fault.amount * MEBIBYTE },
          { diskShownBytes: null },
        );
      case 'firmware-updated':
        return change(
          serverOf(onlySlot(slots)).faults,
          { firmwareVersion: UPDATED_FIRMWARE },
          { firmwareVersion: null },
        );
      case 'tpm-absent':
        return putIntoSocket(tpmOf(onlySlot(slots)), 'absent');
      case 'tpm-replaced':
        return putIntoSocket(tpmOf(onlySlot(slots)), 'replaced');
      case 'tpm-bad-certificate':
        return putIntoSocket(tpmOf(onlySlot(slots)), 'bad-certificate');
      case 'tpm-garbage':
        return putIntoSocket(tpmOf(onlySlot(slots)), 'garbage');
      case 'tpm-dead':
        return putIntoSocket(tpmOf(onlySlot(slots)), 'dead');
      case 'tpm-cleared':
        return this.#clearTpm(tpmOf(onlySlot(slots)), key);
      default:
        return this.#beginAtBmc(fault, onlySlot(slots));
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
        return await loseBmcPackets(this.#deps.network, slot.machine.number, amount);
      case 'bmc-ignores-power':
        return await change(slot, { bmcIgnoresPower: true }, { bmcIgnoresPower: false });
      case 'bmc-ignores-boot':
        return await change(serverOf(slot).faults, { ignoresBootFlag: true }, { ignoresBootFlag: false });
      default:
        throw new Error(`${kind} is not a BMC fault`);
    }
  }

  /** From each power-on the ports stay blocked for a while, like those of a switch that runs spanning tree. */
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
      const opened = await each(slot.taps, (tap) => blockFrames(this.#deps.network, tap));
      release = atMostOnce(opened);
      timer = setTimeout(() => void release().catch(() => undefined), milliseconds);
    };
    return async () => {
      faults.beforePowerOn = null;
      clearTimeout(timer);
      await release();
    };
  }

  /** Ends by itself when it has happened. */
  async #clearTpm(tpm: RackTpm, key: string): Promise<Undo> {
    const undo = tpm.clearAtPowerOn(() => void this.#active.delete(key));
    return async () => undo();
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
  throw new ColdironError('conflict', `${machine.name} is not a running machine: this rack's bmc_mode is recorder`);
}

const portsOf = (target: string, slots: readonly RackSlot[]): readonly string[] =>
  target === WHOLE_NETWORK ? [EVERY_TAP] : tapsOf(slots);

const tapsOf = (slots: readonly RackSlot[]): readonly string[] =>
  slots.flatMap((slot) => (serverOf(slot) ? slot.taps : []));

function bmcOf({ bmc, machine }: RackSlot): RackBmc {
  if (bmc) return bmc;
  throw new ColdironError('conflict', `${machine.name} has no BMC: this rack's bmc_mode is disabled`);
}

function tpmOf({ tpm, machine }: RackSlot): RackTpm {
  if (tpm) return tpm;
  throw new ColdironError('conflict', `${machine.name} has no TPM: give it one with \`tpm: true\` or rack up --tpm`);
}

async function putIntoSocket(tpm: RackTpm, fault: TpmFault): Promise<Undo> {
  await tpm.setFault(fault);
  return () => tpm.setFault(null);
}

function onlySlot(slots: readonly RackSlot[]): RackSlot {
  const [slot] = slots;
  if (!slot) throw new Error('a machine fault without a machine');
  return slot;
}

async function change<T extends object>(target: T, fault: Partial<T>, normal: Partial<T>): Promise<Undo> {
  Object.assign(target, fault);
  return async () => void Object.assign(target, normal);
}

async function each(taps: readonly string[], begin: (tap: string) => Promise<Undo>): Promise<Undo> {
  const undos: Undo[] = [];
  for (const tap of taps) undos.push(await begin(tap));
  return async () => {
    for (const undo of undos) await undo();
  };
}

function atMostOnce(undo: Undo): Undo {
  let done: Promise<void> | null = null;
  return () => {
    done ??= undo();
    return done;
  };
}
