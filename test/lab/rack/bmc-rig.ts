// A rack of emulated machines with simulated BMCs, and this process in its network. One machine runs at a time: each uses
// a whole processor.

import { closeSync, mkdtempSync, openSync, readFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Bmc } from '../../../appliance/bmc/bmc.ts';
import { IPMI_DEPS, type IpmiTarget } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { BMC_USER } from '../../../appliance/lab/rack/bmc-config.ts';
import { type RackDefinition, rackDefinition } from '../../../appliance/lab/rack/definition.ts';
import { sweepLeftovers } from '../../../appliance/lab/rack/leftovers.ts';
import { FULL_RACK_PACKAGES } from '../../../appliance/lab/rack/packages.ts';
import { Rack } from '../../../appliance/lab/rack/rack.ts';
import { RackFolder } from '../../../appliance/lab/rack/rack-folder.ts';
import type { RackSlot } from '../../../appliance/lab/rack/rack-slot.ts';
import { VirtualServer } from '../../../appliance/lab/rack/virtual-server.ts';
import { needPackages } from '../../interop/packages.ts';
import { enterNetwork } from './enter-network.ts';
import { bootSector } from './marked-disks.ts';

/** A machine shows its boot device within seconds; tests may share the processor. */
export const BOOT_WITHIN_MS = 90_000;

/** What iPXE prints when a machine boots from the network, and what the marked disk prints. */
export const FROM_NETWORK = /Configuring \(net0/;
const DISK_TEXT = 'this is the disk of node01';
export const FROM_DISK = new RegExp(DISK_TEXT);

export interface BmcRig {
  readonly rack: Rack;
  readonly folder: string;
  readonly slot: RackSlot;
  /** The machine's disk image file. */
  readonly disk: string;
  /** With the rack's own password, or another one. */
  target(password?: string): IpmiTarget;
  bmc(): Bmc;
  ipmitool(...args: readonly string[]): Promise<string>;
}

export const definitionOf = (machines: readonly object[], rack: object = {}): RackDefinition => {
  const problems: string[] = [];
  const definition = rackDefinition({ rack: { ...rack, machines } }, (at, message) =>
    problems.push(`${at}: ${message}`),
  );
  if (!definition) throw new Error(problems.join('\n'));
  return definition;
};

/** One BIOS machine with a disk that prints a text when it is booted; up before the tests of a file, down after them. */
export function useRack(more: object = {}, rack: object = {}): () => BmcRig {
  let rig: { readonly value: BmcRig; readonly leave: () => void } | null = null;
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-rack-test-'));
  beforeAll(async () => {
    needPackages([...FULL_RACK_PACKAGES, 'ipmitool']);
    await sweepLeftovers();
    const definition = definitionOf([{ name: 'node01', firmware: 'bios-ipxe-rom', disk: 4, ...more }], rack);
    const started = await Rack.start({ definition, folder: new RackFolder(folder), kind: 'embedded' });
    rig = { value: rigOf(started, folder), leave: enterNetwork(started.network) };
    markDisk(rig.value.disk, DISK_TEXT);
  });
  afterAll(async () => {
    rig?.leave();
    await rig?.value.rack.stop();
    await new RackFolder(folder).erase();
  });
  return () => {
    if (!rig) throw new Error('the rack is not up');
    return rig.value;
  };
}

function rigOf(rack: Rack, folder: string): BmcRig {
  const slot = rack.slot('node01');
  const address = '10.77.100.1';
  const { passwordFile } = new RackFolder(folder);
  const target = (password = readFileSync(passwordFile, 'utf8').trim()): IpmiTarget => ({
    address,
    userName: BMC_USER,
    password: new Secret(password),
    bmcKey: null,
  });
  return {
    rack,
    folder,
    slot,
    disk: join(folder, 'machines/node01/disk.img'),
    target,
    bmc: () => ipmiBmc(target(), { efi: false }, IPMI_DEPS),
    ipmitool: (...args) =>
      rack.network.run(
        ...(['ipmitool', '-I', 'lanplus', '-C', '3', '-H', address, '-U', BMC_USER, '-f'] as const),
        passwordFile,
        ...args,
      ),
  };
}

export function serverOf({ server }: RackSlot): VirtualServer {
  if (!(server instanceof VirtualServer)) throw new Error('not a machine that runs');
  return server;
}

/** Printed when the machine boots from its disk. */
export function markDisk(file: string, text: string): void {
  const disk = openSync(file, 'r+');
  writeSync(disk, bootSector(text), 0);
  closeSync(disk);
}
