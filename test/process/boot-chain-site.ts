// A real `coldiron serve` with all loaders and images for both architectures, a network for each policy for unknown
// machines, and a machine for each cell of the matrix: put into the store in its state before the appliance starts.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { HOUR, type Instant } from '../../appliance/domain/instant.ts';
import { type Ipv4, parseIpv4 } from '../../appliance/domain/ipv4.ts';
import type { Lease } from '../../appliance/domain/lease.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import type { MachineSpec } from '../../appliance/domain/machine.ts';
import { parseHostname } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { bzImage, kernelImage, PE_MACHINE } from '../assets/tiny-files.ts';
import { Namespaces } from '../interop/namespaces.ts';
import { needPackages } from '../interop/packages.ts';
import { putLoaders } from '../lab/rack/boot-files.ts';
import {
  intentFor,
  inventoryWrites,
  lifecycleIn,
  machineIn,
  newAudit,
  newEvent,
  newMachineId,
  objectName,
  specOf,
} from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { coldiron, ROOT, type Run } from './appliance.ts';
import {
  CELLS,
  type ChainNetwork,
  CPUS,
  cpuOf,
  NETWORKS,
  nixosFor,
  portOf,
  prefixOf,
  serverOf,
  wireOf,
} from './boot-chain-cells.ts';
import type { Machine } from './boot-chain-packets.ts';
import { WALK, type Walk, type Walked } from './boot-chain-walk.ts';

/** setpriv(1): the kernel ends these processes even if the test is killed. */
const ENDS_WITH_US = ['setpriv', '--pdeathsig', 'KILL'] as const;

const DISK = Buffer.from('what would be written to a disk\n');

/** Placeholder for each system: each has its own length, and the header of a kernel for its architecture. */
const STAND_INS = CPUS.flatMap((cpu): [name: string, bytes: Buffer][] => {
  const head = cpu === 'arm64' ? kernelImage(PE_MACHINE.arm64, 'ARM\x64') : bzImage(1);
  const kernel = (system: string): Buffer => Buffer.concat([head, Buffer.alloc(100_000, `${system} for ${cpu}`)]);
  const initrd = (system: string): Buffer => gzipSync(`the first files of ${system} for ${cpu}`);
  return [
    [`images/service-os-${cpu}/kernel`, kernel('the service OS')],
    [`images/service-os-${cpu}/initrd`, initrd('the service OS')],
    [`nixos/${nixosFor(cpu)}/bzImage`, kernel('NixOS')],
    [`nixos/${nixosFor(cpu)}/initrd`, initrd('NixOS')],
  ];
});

/** A machine in addition to those of the matrix. */
export interface Extra {
  readonly machine: Machine;
  readonly network: string;
  readonly address?: string;
}

export class BootChainSite {
  readonly #namespaces = new Namespaces();
  readonly #folder = mkdtempSync(join(tmpdir(), 'coldiron-boot-chain-'));
  readonly #state = join(this.#folder, 'state');

  static async start(extras: readonly Extra[], leases: readonly Lease[]): Promise<BootChainSite> {
    needPackages(['curl', 'file', 'iproute2']);
    const site = new BootChainSite();
    try {
      await site.#furnish(extras, leases);
      await site.#serve();
    } catch (error) {
      await site.stop();
      throw error;
    }
    return site;
  }

  /** Runs all walks, each as far as it gets; by name. */
  async walk(walks: readonly Walk[]): Promise<ReadonlyMap<string, Walked>> {
    writeFileSync(join(this.#folder, 'walks.json'), JSON.stringify(walks));
    const command = [process.execPath, WALK, this.#folder];
    const { status, output } = await this.#namespaces.run('machines', ...ENDS_WITH_US, ...command);
    if (status !== 0) throw new Error(`the machines came to grief: ${output}`);
    const walked = output.trimEnd().split('\n');
    return new Map(walked.map((line) => JSON.parse(line) as Walked).map((each) => [each.name, each]));
  }

  /** A request from the machines' side. */
  async curl(...args: readonly string[]): Promise<string> {
    return (await this.#namespaces.run('machines', 'curl', '-sS', ...args)).output;
  }

  run(...args: readonly string[]): Run {
    return coldiron([...args, '--state', this.#state]);
  }

  /** The expected content of a library file, by its name. */
  sha256(asset: string): string {
    return createHash('sha256')
      .update(readFileSync(join(this.#state, 'assets', asset)))
      .digest('hex');
  }

  async stop(): Promise<void> {
    await this.#namespaces.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #furnish(extras: readonly Extra[], leases: readonly Lease[]): Promise<void> {
    await putLoaders(this.#state);
    for (const [name, bytes] of [...STAND_INS, ['images/debian/disk.raw', DISK] as const]) {
      const file = join(this.#state, 'assets', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    const store = await openSqliteStore({ file: join(this.#state, 'coldiron.db') });
    try {
      await putMachines(store, extras, Date.now());
      await store.commitLeases(leases);
    } finally {
      await store.close();
    }
  }

  async #serve(): Promise<void> {
    const namespaces = this.#namespaces;
    namespaces.add('appliance', 'machines');
    for (const { name } of NETWORKS) {
      namespaces.connect(
        { namespace: 'appliance', device: portOf(name), address: `${serverOf(name)}/24` },
        { namespace: 'machines', device: wireOf(name), address: `${prefixOf(name)}.254/24` },
      );
    }
    // Every JSON document is YAML.
    const file = join(this.#folder, 'coldiron.yaml');
    writeFileSync(file, JSON.stringify(SITE));
    const serve = [join(ROOT, 'coldiron'), 'serve', '--config', file, '--state', this.#state];
    const serving = namespaces.start('appliance', ...ENDS_WITH_US, ...serve);
    await serving.says(/^Coldiron is up/m);
    if (serving.output.includes('not answering')) throw new Error(serving.output);
  }
}

async function putMachines(store: Store, extras: readonly Extra[], now: Instant): Promise<void> {
  const declared = CELLS.flatMap(({ machine, network, state, profile, policy }, at) => {
    if (state === null) return [];
    const address = policy === 'ignore' && state !== 'discovered' ? `${prefixOf(network)}.${10 + at}` : null;
    const sayIt = machine.client === 'secure-boot' && state !== 'discovered';
    const changes = { profile: objectName(profile ?? 'debian'), secureBoot: sayIt ? true : null };
    return { spec: specFor(machine, network, address, changes), state };
  });
  const others = extras.map(({ machine, network, address = null }) => ({
    spec: specFor(machine, network, address, {}),
    state: 'registered' as const,
  }));
  const createMachines = [...declared, ...others].map(({ spec, state }) => ({
    id: newMachineId(),
    spec,
    source: state === 'discovered' ? 'network' : 'api',
    lifecycle: lifecycleIn(state, { since: now, ...DETAILS[state] }),
  }));
  await store.writeInventory(inventoryWrites(0, { createMachines }));
  for (const { id, lifecycle, spec } of createMachines) {
    const kind = lifecycle.state === 'deploying' ? 'deploy' : lifecycle.state === 'releasing' ? 'erase' : null;
    if (kind === null) continue;
    const profile = kind === 'deploy' ? spec.profile : null;
    const times = { armedAt: now, expiresAt: now + HOUR };
    const intent = intentFor(await machineIn(store, id), { kind, profile, ...times });
    await writesTo(store).armIntent(
      intent,
      newEvent('intent.armed', { machine: id, at: now }),
      newAudit('intent.armed'),
    );
  }
}

const DETAILS: Partial<Record<LifecycleState, Partial<ReturnType<typeof lifecycleIn>>>> = {
  failed: { failure: { step: 'deploy', reason: 'the disk was full' } },
  quarantined: { note: 'the lid stood open' },
};

function specFor(machine: Machine, network: string, address: string | null, changes: Partial<MachineSpec>) {
  const architecture = cpuOf(machine.client);
  const nic = { name: 'eth0', mac: mustParse(parseMac(machine.mac)), network: objectName(network), mtu: null };
  return specOf(0, {
    hostname: mustParse(parseHostname(machine.name)),
    sku: objectName(architecture.replace('_', '-')),
    architecture,
    uuid: machine.uuid as MachineSpec['uuid'],
    serial: null,
    interfaces: [{ ...nic, address: address === null ? null : ipv4(address) }],
    bmc: null,
    ...changes,
  });
}

export const ipv4 = (text: string): Ipv4 => mustParse(parseIpv4(text));

const networkOf = ({ name, unknown, signed, efiLoader }: ChainNetwork) => ({
  name,
  unknown,
  prefix: `${prefixOf(name)}.0/24`,
  server: serverOf(name),
  interface: portOf(name),
  dhcp: 'authoritative',
  secure_boot: signed,
  efi_loader: efiLoader,
  pools: [{ from: `${prefixOf(name)}.200`, to: `${prefixOf(name)}.250` }],
});

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@example.com';

const SITE = {
  listen: { boot: '0.0.0.0:8080', management: '127.0.0.1:0' },
  sites: [{ name: 'lab', bmc_mode: 'disabled', accounts: [{ name: 'ada', admin: true, ssh_keys: [KEY] }] }],
  networks: NETWORKS.map(networkOf),
  skus: CPUS.map((cpu) => ({ name: cpu.replace('_', '-'), architecture: cpu })),
  profiles: [
    {
      name: 'debian',
      kind: 'cloud-image',
      architectures: ['x86_64', 'arm64'],
      image: { source: 'debian/disk.raw', sha256: createHash('sha256').update(DISK).digest('hex'), format: 'raw' },
    },
    ...CPUS.map((cpu) => ({
      name: nixosFor(cpu),
      kind: 'nixos',
      role: 'worker',
      architectures: [cpu],
      storage: { disks: [{ by_id: 'ata-Disk_D-1' }] },
    })),
  ],
};
