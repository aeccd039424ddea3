// Everything about BMCs, put together: one gate to each of them, one memory, one desk.

import type { Ipv4, Prefix } from '../../domain/ipv4.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { Store } from '../../store/store.ts';
import type { ObservableTrail } from '../../trail/trail.ts';
import type { BmcClock } from '../clock.ts';
import { BmcGates } from '../gates.ts';
import type { Patience } from '../patience.ts';
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
import { PersistentBootOverrides } from './persistent-boot-overrides.ts';

export interface BmcServiceSettings {
  readonly store: Store;
  readonly vault: Vault;
  /** Where machines are seen to boot. */
  readonly trail: ObservableTrail;
  readonly clock: BmcClock;
  readonly bmcMode: (machine: Machine) => BmcMode | null;
  /** As it is now; null: removed. */
  readonly current: (machine: MachineId) => Machine | null;
  /** Where BMCs may be looked for. */
  readonly scanned: readonly Prefix[];
  readonly nodeAtBmc: (address: Ipv4) => string | null;
  /** The drivers of this build, unless told otherwise. */
  readonly openDriver?: OpenDriver;
  /** How long machines are waited for, unless told otherwise. */
  readonly patience?: Patience;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface BmcService {
  /** What the machine's life makes us do. */
  readonly effects: Pick<BmcOpener, 'standing' | 'using'> & Pick<NetworkBoot, 'bootedSince' | 'bootFromNetwork'>;
  /** Why the BMC of this machine could not start it now; empty: nothing is known to be wrong. */
  readonly problems: (machine: Machine) => Promise<readonly string[]>;
  readonly nodes: NodeBmcs;
  readonly keys: BmcCredentials;
  readonly scan: BmcScan;
  /** Nobody waits for a machine any more; what was being waited for is taken up at the next start. */
  stop(): void;
}

export async function openBmcService(settings: BmcServiceSettings): Promise<BmcService> {
  const { store, vault, clock, bmcMode, current, log } = settings;
  const now = (): number => clock.now();
  const { machines, problems } = await resealAll(store, vault);
  if (machines > 0) log.info({ machines }, 'BMC credentials sealed anew with the newest key of the vault');
  if (problems.length > 0) log.error({ problems }, 'BMC credentials that the vault cannot open; set them again');

  const stopping = new AbortController();
  const memory = await BmcMemory.open(store, log);
  const openDriver = settings.openDriver ?? driverOpener(new BmcGates(clock), memory);
  const desk = new BmcOpener({ store, vault, now, bmcMode, openDriver });
  const nodes = new NodeBmcs({ desk, store, now });
  const watch = new BootWatch(settings.trail, now);
  const ledger = storedLedger(store, now);
  const networkBoot = new NetworkBoot({
    desk,
    watch,
    store,
    ledger,
    clock,
    current,
    stopping: stopping.signal,
    ...(settings.patience && { patience: settings.patience }),
  });
  const lasting = new PersistentBootOverrides({ desk, store, now, current });
  const { over } = await lasting.takeBack();
  over.catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error({ err: error }, 'a boot choice that lasts could not be taken back');
  });
  return {
    effects: {
      standing: (machine) => desk.standing(machine),
      using: async (machine, record, work) => {
        await lasting.settled(machine);
        return desk.using(machine, record, work);
      },
      bootedSince: (machine, since) => networkBoot.bootedSince(machine, since),
      bootFromNetwork: async (machine, tell) => {
        await lasting.settled(machine);
        return networkBoot.bootFromNetwork(machine, tell);
      },
    },
    problems: (machine) => bmcProblems(desk, machine),
    nodes,
    keys: new BmcCredentials({ desk, nodes, store, vault, memory, now, clock }),
    scan: bmcScan({ allowed: settings.scanned, clock, store, nodeAt: settings.nodeAtBmc, stopping: stopping.signal }),
    stop: () => stopping.abort(new Error('the appliance stops; this is taken up at its next start')),
  };
}
