// The BMC service: wires gates, memory, opener and the modules that use them.

import type { Ipv4, Prefix } from '../../domain/ipv4.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { Store } from '../../store/store.ts';
import type { ObservableTrail } from '../../trail/trail.ts';
import type { BootWait } from '../boot-wait.ts';
import type { BmcClock } from '../clock.ts';
import { Captures } from '../console/captures.ts';
import type { ConsoleBoot, ConsoleFiles, ConsoleLine } from '../console/console-files.ts';
import { watchedPower } from '../console/watched-power.ts';
import { BmcGates } from '../gates.ts';
import { BmcCredentials } from './bmc-credentials.ts';
import { BmcOpener, type OpenDriver } from './bmc-opener.ts';
import { bmcProblems } from './bmc-problems.ts';
import { type BmcScan, bmcScan } from './bmc-scan.ts';
import { BootWatch } from './boot-watch.ts';
import { driverOpener, type OnDriverCall } from './drivers.ts';
import { storedLedger } from './ledger.ts';
import { type BmcLogin, resealAll } from './logins.ts';
import { BmcMemory } from './memory.ts';
import { NetworkBoot } from './network-boot.ts';
import { NodeBmcs } from './node-bmcs.ts';
import { NodeConsoles } from './node-consoles.ts';
import { type PasswordFolder, passwordReader } from './password-files.ts';
import { PersistentBootOverrides } from './persistent-boot-overrides.ts';
import { VirtualDrives } from './virtual-drives.ts';
import { NO_WITNESS, type PowerWitness } from './witnessed.ts';

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
  readonly machines: () => Iterable<Machine>;
  /** What machines said on their consoles. */
  readonly consoleFiles: ConsoleFiles;
  /** Whether consoles are captured while machines are worked on. */
  readonly captureConsoles: boolean;
  /** The networks that may be scanned for BMCs. */
  readonly scanned: readonly Prefix[];
  readonly nodeAtBmc: (address: Ipv4) => string | null;
  /** Default: the drivers of this build. */
  readonly openDriver?: OpenDriver;
  /** Told of each call to a BMC when it is over. */
  readonly onCall?: OnDriverCall;
  /** Default: the standard boot wait. */
  readonly bootWait?: BootWait;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** What a BMC knows about a machine, whatever reaches the appliance from it. */
export interface MachinePower {
  /** From now on this witness is told every power state. */
  observe(witness: PowerWitness): void;
  mayRead(machine: Machine): boolean;
  /** The witness is told. Rejects as the BMC does. */
  read(machine: Machine): Promise<void>;
  /** The machine was seen to boot from the network after this appliance had its BMC switch it on. */
  hasObeyed(machine: Machine): Promise<boolean>;
}

export interface BmcService {
  /** For the effects of the machine lifecycle. */
  readonly effects: Pick<BmcOpener, 'eligibility' | 'using'> & Pick<NetworkBoot, 'bootedSince' | 'bootFromNetwork'>;
  readonly drives: VirtualDrives;
  /** Why the BMC of this machine could not power it on now; empty: no known problem. */
  readonly problems: (machine: Machine) => Promise<readonly string[]>;
  readonly nodes: NodeBmcs;
  /** For a system that controls the power of this machine itself. */
  readonly login: (machine: Machine) => Promise<BmcLogin>;
  readonly keys: BmcCredentials;
  readonly scan: BmcScan;
  readonly consoleLog: (machine: Machine, boot: ConsoleBoot, lines: number) => Promise<ConsoleLog>;
  readonly power: MachinePower;
  /** Aborts all waits for machines, which resume at the next start, and closes all consoles. */
  stop(): Promise<void>;
}

export interface ConsoleLog {
  /** Its console is read now. */
  readonly captured: boolean;
  readonly lines: readonly ConsoleLine[];
  /** The line that is not ended yet, such as a prompt. */
  readonly unfinished: string;
}

export async function openBmcService(settings: BmcServiceSettings): Promise<BmcService> {
  const { store, vault, clock, bmcMode, current, onChange, log } = settings;
  const now = (): number => clock.now();
  const { machines, problems } = await resealAll(store, vault);
  if (machines > 0) log.info({ machines }, 'BMC credentials were sealed again with the newest vault key');
  if (problems.length > 0) log.error({ problems }, 'the vault cannot open some BMC credentials; set them again');

  const stopping = new AbortController();
  const memory = await BmcMemory.open(store, log);
  const gates = new BmcGates(clock);
  const driver = settings.openDriver ?? driverOpener(gates, memory, settings.onCall);
  const openDriver: OpenDriver = (machine, at, login) =>
    watchedPower(driver(machine, at, login), {
      beforeStart: () => captures.beforeStart(machine.id),
      expectBoot: () => captures.expectBoot(machine.id),
    });
  const readPassword = passwordReader(settings.passwords, log);
  let witness = NO_WITNESS;
  const currentWitness = (): PowerWitness => witness;
  const opener = new BmcOpener({ store, vault, readPassword, now, bmcMode, openDriver, witness: currentWitness });
  const consoles = new NodeConsoles({ opener, clock });
  const captures = new Captures({
    ...{ store, clock, current, log },
    files: settings.consoleFiles,
    machines: settings.machines,
    consoleOf: (machine) => consoles.addressOf(machine),
    follow: (machine, follower) => consoles.follow(machine, follower),
  });
  if (settings.captureConsoles) captures.start();
  const nodes = new NodeBmcs({ opener, store, consoles, now, running: (address) => gates.running(address) });
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
    witness: currentWitness,
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
    login: (machine) => opener.login(machine),
    keys: new BmcCredentials({ opener, nodes, store, vault, memory, now, clock }),
    scan: bmcScan({ allowed: settings.scanned, clock, store, nodeAt: settings.nodeAtBmc, stopping: stopping.signal }),
    power: {
      observe: (given) => {
        witness = given;
      },
      mayRead: (machine) => {
        const eligibility = opener.eligibility(machine);
        return eligibility.kind === 'open' && eligibility.mode === 'real';
      },
      read: async (machine) => {
        await opener.using(
          machine,
          () => undefined,
          (bmc) => bmc.powerState(),
        );
      },
      hasObeyed: async (machine) => (await store.bootTimes(machine.id)).length > 0,
    },
    consoleLog: async (machine, boot, lines) => {
      const capture = boot === 'current' ? captures.capture(machine.id) : null;
      return {
        captured: captures.capture(machine.id)?.isOpen ?? false,
        lines: await settings.consoleFiles.read(machine.id, boot, lines),
        unfinished: capture?.unfinished ?? '',
      };
    },
    stop: async () => {
      stopping.abort(new Error('the appliance is stopping; the operation resumes at the next start'));
      await captures.stop();
      await consoles.stop();
      await settings.consoleFiles.close();
    },
  };
}
