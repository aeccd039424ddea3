// Describes the rack to an appliance: an inventory in the normal schema and a site file, so that it treats virtual machines
// as hardware.

import { dump } from 'js-yaml';
import type { InventoryDocument, NodeSection } from '../../inventory/schema.ts';
import {
  BOOT_POOL,
  BOOT_PREFIX,
  bmcAddress,
  bootAddress,
  SERVER_ADDRESS,
  WORK_PREFIX,
  workAddress,
} from './addresses.ts';
import type { RackDefinition, RackedMachine } from './definition.ts';

export interface InventoryPlaces {
  /** The bridge that machines boot from. */
  readonly bridge: string;
  /** An absolute path. */
  readonly passwordFile: string;
  readonly userName: string;
}

const NAMES = { boot: 'boot', work: 'work' } as const;

export function rackInventory(rack: RackDefinition, places: InventoryPlaces): InventoryDocument {
  const declared = rack.machines.filter(({ twinOf }) => twinOf === null);
  const hasSecondCards = declared.some(({ cards }) => cards.length > 1);
  return {
    sites: [{ name: rack.site, bmc_mode: rack.bmcMode }],
    networks: [
      {
        name: NAMES.boot,
        prefix: BOOT_PREFIX,
        server: SERVER_ADDRESS,
        interface: places.bridge,
        dhcp: 'authoritative',
        unknown: 'inspect',
        pools: [{ ...BOOT_POOL }],
      },
      ...(hasSecondCards ? [{ name: NAMES.work, prefix: WORK_PREFIX }] : []),
    ],
    skus: [...new Set(declared.map(architectureOf))].map((architecture) => ({
      name: skuOf(architecture),
      description: 'a machine of the virtual rack',
      architecture,
    })),
    nodes: declared.map((machine) => nodeOf(machine, rack, places)),
  };
}

function nodeOf(machine: RackedMachine, rack: RackDefinition, places: InventoryPlaces): NodeSection {
  const [bootCard, workCard] = machine.cards;
  const { name, number, uuid, serial, profile, cluster } = machine;
  return {
    name,
    sku: skuOf(architectureOf(machine)),
    // Installed machines enroll by themselves: nobody brings a bundle to a virtual machine.
    ...(profile === null ? {} : { profile, enrollment: 'first-boot' as const }),
    ...(cluster === null ? {} : { cluster }),
    uuid,
    serial,
    ...(machine.firmware === 'uefi-secureboot' ? { secure_boot: true } : {}),
    interfaces: [
      { name: 'eth0', mac: bootCard, network: NAMES.boot, address: bootAddress(number) },
      ...(workCard === undefined
        ? []
        : [{ name: 'eth1', mac: workCard, network: NAMES.work, address: workAddress(number) }]),
    ],
    ...(rack.bmcMode === 'disabled'
      ? {}
      : {
          bmc: {
            address: bmcAddress(number),
            driver: 'ipmi' as const,
            username: places.userName,
            password_file: places.passwordFile,
          },
        }),
  };
}

const architectureOf = ({ firmware }: RackedMachine): 'x86_64' | 'arm64' =>
  firmware === 'arm64-uefi' ? 'arm64' : 'x86_64';

const skuOf = (architecture: string): string => `virtual-${architecture.replace('_', '-')}`;

const HEAD = '# Written by `coldiron rack up`, and overwritten by the next one: changes here are lost.\n';

export const inventoryText = (inventory: InventoryDocument): string => `${HEAD}${dump(inventory)}`;

/** `state`: the appliance's state folder, relative to the file's folder. */
export const siteText = (state: string, inventoryFile: string, passwordFolder: string): string =>
  `${HEAD}${dump({
    state,
    listen: { boot: `${SERVER_ADDRESS}:8080`, management: '127.0.0.1:8443', node: `${SERVER_ADDRESS}:8444` },
    bmc: { password_folder: passwordFolder },
    inventory: [inventoryFile],
  })}`;
