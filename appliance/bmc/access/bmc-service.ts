// The BMC service: wires gates, memory, opener and the modules that use them.

import type { Ipv4, Prefix } from '../../domain/ipv4.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { Store } from '../../store/store.ts';
import type { ObservableTrail } from '../../trail/trail.ts';
import type { BootWait } from '../boot-wait.ts';
import type { BmcClock } from '../clock.ts';
import { BmcGates } from '../gates.ts';
import { BmcCredentials } from './bmc-credentials.ts';
import { BmcOpener, type OpenDriver } from './bmc-opener.ts';
import { bmcProblems } from './bmc-problems.ts';
import { type BmcScan, bmcScan } from './bmc-scan.ts';
import { BootWatch } from './boot-watch.ts';
import { driverOpener } from './drivers.ts';
import { storedLedger } from './ledger.ts';
import { resealAll } from './logins.ts';
import { BmcMemory } from './memory.ts';
import { NetworkBoot } from './network-boot.ts';
import { NodeBmcs } from './node-bmcs.ts';
import { type PasswordFolder, passwordReader } from './password-files.ts';
import { PersistentBootOverrides } from './persistent-boot-overrides.ts';
import { VirtualDrives } from './virtual-drives.ts';

export interface BmcServiceSettings {
  readonly store: Store;
  readonly vault: Vault;
  readonly passwords: PasswordFolder;
  /** Reports the network boots of machines. */
  readonly trail: ObservableTrail;
  readonly clock: BmcClock;
  readonly bmcMode: (machine: Machine) => BmcMode | null;
  /** The current machine; null: removed. */
  readonly current: (machine: MachineId) => Machine | null;
  /** Calls the listener after each change of the machine. Returns unsubscribe. */
  readonly onChange: (machine: MachineId, listener: () => void) => () => void;
  /** The networks that may be scanned for BMCs. */
  readonly scanned: readonly Prefix[];
  readonly nodeAtBmc: (address: Ipv4) => string | null;
  /** Default: the drivers of this build. */
  readonly openDriver?: OpenDriver;
  /** Default: the standard boot wait. */
  readonly bootWait?: BootWait;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface BmcService {
  /** For the effects of the machine lifecycle. */
  readonly effects: Pick<BmcOpener, 'eligibility' | 'using'> & Pick<NetworkBoot, 'bootedSince' | 'bootFromNetwork'>;
  readonly drives: VirtualDrives;
  /** Why the BMC of this machine could not power it on now; empty: no known problem. */
  readonly problems: (machine: Machine) => Promise<readonly string[]>;
  readonly nodes: NodeBmcs;
  readonly keys: BmcCredentials;
  readonly scan: BmcScan;
  /** Aborts all waits for machines; they resume at the next start. */
  stop(): void;
}

export async function openBmcService(settings: BmcServiceSettings): Promise<BmcService> {
  const { store, vault, clock, bmcMode, current, onChange, log } = settings;
  const now = (): number => clock.now();
  const { machines, problems } = await resealAll(store, vault);
  if (machines > 0) log.info({ machines }, 'BMC credentials were sealed again with the newest vault key');
  if (problems.length > 0) log.error({ problems }, 'the vault cannot open some BMC credentials; set them again');

  const stopping = new AbortController();
  const memory = await BmcMemory.open(store, log);
  const openDriver = settings.openDriver ?? driverOpener(new BmcGates(clock), memory);
  const readPassword = passwordReader(settings.passwords, log);
  const opener = new BmcOpener({ store, vault, readPassword, now, bmcMode, openDriver });
  const nodes = new NodeBmcs({ opener, store, now });
  const watch = new BootWatch(settings.trail, now);
  const ledger = storedLedger(store, now);
  const networkBoot = new NetworkBoot({
    opener,
    watch,
    store,
    ledger,
    clock,
    current,
    onChange,
    stopping: stopping.signal,
    ...(settings.bootWait && { bootWait: settings.bootWait }),
  });
  const overrides = new PersistentBootOverrides({ opener, store, now, current });
  const { finished } = await overrides.removeAll();
  finished.catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error({ err: error }, 'cannot remove a persistent boot override');
  });
  return {
    effects: {
      eligibility: (machine) => opener.eligibility(machine),
      using: async (machine, record, work) => {
        await overrides.settled(machine);
        return opener.using(machine, record, work);
      },
      bootedSince: (machine, since) => networkBoot.bootedSince(machine, since),
      bootFromNetwork: async (machine, report) => {
        await overrides.settled(machine);
        return networkBoot.bootFromNetwork(machine, report);
      },
    },
    drives: new VirtualDrives(opener, (machine) => overrides.settled(machine)),
    problems: (machine) => bmcProblems(opener, machine),
    nodes,
    keys: new BmcCredentials({ opener, nodes, store, vault, memory, now, clock }),
    scan: bmcScan({ allowed: settings.scanned, clock, store, nodeAt: settings.nodeAtBmc, stopping: stopping.signal }),
    stop: () => stopping.abort(new Error('the appliance is stopping; the operation resumes at the next start')),
  };
}
