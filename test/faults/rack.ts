// The rack of the catalogue: machines of each kind that faults need, an appliance, and a state folder on a small disk of its own.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import { SERVER_ADDRESS, WORK_BRIDGE } from '../../appliance/lab/rack/addresses.ts';
import type { RackedMachine } from '../../appliance/lab/rack/definition.ts';
import type { FirmwareKind } from '../../appliance/lab/rack/firmware.ts';
import { withTinyProfiles } from '../onboarding/faults-images.ts';
import { OnboardingRig } from '../onboarding/rig.ts';
import type { MachineKind } from './fault.ts';

const run = promisify(execFile);

interface Place {
  readonly kind: MachineKind;
  readonly firmware: FirmwareKind;
}

/** node01, node02, … A machine that is off costs nothing. */
const PLACES: readonly Place[] = [
  // A ROM that is not iPXE: it fetches its loader over TFTP, as most servers do.
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'bios', firmware: 'bios-first-stage' },
  { kind: 'uefi', firmware: 'uefi-pxe' },
  { kind: 'two-cards', firmware: 'bios-first-stage' },
  { kind: 'by-hand', firmware: 'bios-ipxe-rom' },
  { kind: 'secure-boot', firmware: 'uefi-secureboot' },
];
const nameOf = (index: number): string => `node${String(index + 1).padStart(2, '0')}`;

export const POOL = { from: '10.77.1.1', to: '10.77.1.4' } as const;
export const POOL_ADDRESSES = ['10.77.1.1', '10.77.1.2', '10.77.1.3', '10.77.1.4'] as const;

/** The boot files take 250 MB, each machine with Debian 500 MB more; the disks are sparse files otherwise. */
const STATE_DISK = '5g';

export class FaultRack {
  readonly rig: OnboardingRig;
  readonly #mount: string;

  private constructor(rig: OnboardingRig, mount: string) {
    this.rig = rig;
    this.#mount = mount;
  }

  static async start(): Promise<FaultRack> {
    const mount = await mkdtemp(join(tmpdir(), 'coldiron-faults-'));
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${STATE_DISK},mode=0700`, 'coldiron-faults', mount]);
      const rig = await OnboardingRig.start({
        firmwares: PLACES.map(({ firmware }) => firmware),
        machines: placed,
        inventory: async (written) => [(await withTinyProfiles(written, declared)).file],
        folder: mount,
      });
      return new FaultRack(rig, mount);
    } catch (error) {
      await remove(mount);
      throw error;
    }
  }

  /** The names of the machines of this kind. */
  static machines(kind: MachineKind): readonly string[] {
    return PLACES.flatMap((place, index) => (place.kind === kind ? [nameOf(index)] : []));
  }

  async stop(): Promise<void> {
    await this.rig.stop();
    await remove(this.#mount);
  }
}

async function remove(mount: string): Promise<void> {
  await run('umount', [mount]).catch(() => undefined);
  await rm(mount, { recursive: true, force: true });
}

function placed(machine: RackedMachine): RackedMachine {
  const place = PLACES[machine.number - 1];
  const [card] = machine.cards;
  if (place?.kind === 'two-cards') return { ...machine, cards: [card, card.replace(/:00:(..)$/, ':01:$1')] };
  return place?.kind === 'secure-boot' ? { ...machine, memory: 1024 } : machine;
}

/** What the inventory of the rack would not say by itself. */
function declared(inventory: InventoryDocument): InventoryDocument {
  const [byHand, secured] = [FaultRack.machines('by-hand'), FaultRack.machines('secure-boot')];
  return {
    ...inventory,
    networks:
      inventory.networks?.map((network) =>
        network.name === 'boot'
          ? { ...network, pools: [{ ...POOL }] }
          : {
              ...network,
              // The boot port listens only there; deployments are refused while a network names an address without it.
              server: SERVER_ADDRESS,
              interface: WORK_BRIDGE,
              dhcp: 'authoritative' as const,
            },
      ) ?? [],
    nodes:
      inventory.nodes?.map((node) => {
        if (byHand.includes(node.name)) {
          const { bmc: _, ...rest } = node;
          return { ...rest, interfaces: node.interfaces?.map(({ address: _own, ...card }) => card) ?? [] };
        }
        if (!secured.includes(node.name)) return node;
        const { secure_boot: _, ...rest } = node;
        return rest;
      }) ?? [],
  };
}
