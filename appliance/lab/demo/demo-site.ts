// The machines of the demonstration's rack, and the site file of its appliance.

import { dump } from 'js-yaml';
import { CLOUD_IMAGE_NAME } from '../../assets/cloud-image/build.ts';
import { SERVER_ADDRESS } from '../rack/addresses.ts';
import { identicalMachines, type RackDefinition } from '../rack/definition.ts';
import type { FirmwareKind } from '../rack/firmware.ts';

export const DEMO_PROFILE = 'debian-12';
/** Enough for the service OS, and for cloud-init's Python. */
const MEMORY_MEBIBYTES = 768;
const DISK_MEBIBYTES = 2048;

/** One machine per firmware kind, in this order: node01, node02, … */
export function demoRack(firmwares: readonly FirmwareKind[]): RackDefinition {
  const rack = identicalMachines(firmwares.length);
  const machines = rack.machines.map((machine, index) => ({
    ...machine,
    firmware: firmwares[index] ?? machine.firmware,
    memory: MEMORY_MEBIBYTES,
    disk: DISK_MEBIBYTES,
    profile: DEMO_PROFILE,
  }));
  return { ...rack, machines };
}

export interface DemoSite {
  readonly state: string;
  /** Absolute paths. */
  readonly inventory: readonly string[];
  /** Of the rack's BMCs. */
  readonly passwordFolder: string;
  readonly imageSha256: string;
  /** Name of an image in the library, if not the Debian one. */
  readonly imageName?: string;
}

/** All addresses are in the rack's own network, which cannot be reached from outside. */
export const demoSiteText = ({
  state,
  inventory,
  passwordFolder,
  imageSha256,
  imageName = CLOUD_IMAGE_NAME,
}: DemoSite): string =>
  `# Written by \`npm start\`, and overwritten by the next one.\n${dump({
    state,
    listen: { boot: `${SERVER_ADDRESS}:8080`, management: '127.0.0.1:8443', node: `${SERVER_ADDRESS}:8444` },
    bmc: { password_folder: passwordFolder },
    inventory,
    profiles: [
      {
        name: DEMO_PROFILE,
        kind: 'cloud-image',
        description: 'Debian 12 with cloud-init, for virtual machines',
        deploy_minutes: 30,
        // Needs no locale generation at the first boot.
        locale: 'C.UTF-8',
        image: { source: imageName, sha256: imageSha256 },
      },
    ],
  })}`;
