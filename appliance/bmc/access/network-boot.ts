// Makes a machine boot from the network, and does not take the BMC's word for it: the machine has to ask for an address.

import type { NewEventOf } from '../../domain/event.ts';
import { knownEvent } from '../../domain/events/known-event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { BmcError } from '../bmc-error.ts';
import type { BmcClock } from '../clock.ts';
import type { Patience } from '../patience.ts';
import type { QuirkLedger } from '../quirk-ledger.ts';
import { type BootingBmc, type BootReport, type NamedBmc, verified } from '../verified.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';
import { type BootWatch, isNetworkBoot } from './boot-watch.ts';
import { openedEachTime } from './opened-each-time.ts';
import { MovedOn, whileStaying } from './state-visit.ts';

export interface NetworkBootSettings {
  readonly desk: Pick<BmcOpener, 'using' | 'mustBeOpen'>;
  readonly watch: Pick<BootWatch, 'lastSeen' | 'untilSeen'>;
  readonly store: Pick<
    Store,
    'events' | 'bootTimes' | 'addBootTime' | 'setPersistentBootOverride' | 'deletePersistentBootOverride'
  >;
  readonly ledger: QuirkLedger;
  readonly clock: BmcClock;
  /** As it is now; null: removed. */
  readonly current: (machine: MachineId) => Machine | null;
  /** Aborted when the appliance stops. */
  readonly stopping: AbortSignal;
  readonly patience?: Patience;
}

export type NetworkBootOutcome =
  | { readonly kind: 'seen'; readonly method: string; readonly took: number }
  | { readonly kind: 'moved-on'; readonly reason: string };

/** DHCP packets that are looked through for the last one of a boot. */
const LOOK_BACK = 50;

export class NetworkBoot {
  readonly #settings: NetworkBootSettings;

  constructor(settings: NetworkBootSettings) {
    this.#settings = settings;
  }

  /** Also by an earlier process: what it saw is in the trail. */
  async bootedSince(machine: Machine, since: Instant): Promise<boolean> {
    if (this.#settings.watch.lastSeen(machine.id, since) !== null) return true;
    return (await this.#boots(machine)).some(({ at }) => at >= since);
  }

  /** Rejects with a BmcError when nothing helped. Every attempt is told while it is made. */
  async bootFromNetwork(machine: Machine, tell: (report: BootReport) => Promise<void>): Promise<NetworkBootOutcome> {
    const { desk, clock, current, stopping } = this.#settings;
    const { endpoint } = desk.mustBeOpen(machine);
    const stay = whileStaying(machine, () => current(machine.id), clock);
    let told = Promise.resolve();
    const report = (said: BootReport): Promise<void> => {
      told = told.then(() => this.#remember(machine, said)).then(() => tell(said));
      // It is looked at when the boot is over, minutes later perhaps; until then a failure must not count as nobody's.
      told.catch(() => undefined);
      return told;
    };
    let lastTold: BootingBmc | null = null;
    const bmcs = protocolsOf(endpoint).map((driver): NamedBmc => {
      // A boot takes minutes, and meanwhile the password may change: no session lasts for longer than a verb.
      const bmc = openedEachTime((work) => desk.using(machine, () => undefined, work, driver));
      const setBoot: BootingBmc['setBoot'] = (choice) => {
        lastTold = bmc;
        return bmc.setBoot(choice);
      };
      return { driver, bmc: { ...bmc, setBoot } };
    });
    try {
      const outcome = await this.#verified(machine, bmcs, report, AbortSignal.any([stay.signal, stopping]));
      return { kind: 'seen', ...outcome };
    } catch (error) {
      // At a stop the machine is still wanted to boot; one that is elsewhere by now is not.
      if (!(error instanceof MovedOn)) throw error;
      if (lastTold) void report(await takenBack(lastTold));
      return { kind: 'moved-on', reason: error.message };
    } finally {
      stay.end();
      await told;
    }
  }

  /** Before the BMC receives an override that lasts, and once it is undone: a process that finds the machine has to know. */
  async #remember({ id: machine }: Machine, { kind, method }: BootReport): Promise<void> {
    const { store, clock } = this.#settings;
    if (kind === 'lasting') await store.setPersistentBootOverride({ machine, method, setAt: clock.now() });
    if (kind === 'undone') await store.deletePersistentBootOverride(machine);
  }

  async #verified(
    machine: Machine,
    bmcs: readonly NamedBmc[],
    report: (report: BootReport) => Promise<void>,
    signal: AbortSignal,
  ) {
    const { watch, store, ledger, clock, patience } = this.#settings;
    const wish = { device: 'network', firmware: await this.#firmwareOf(machine) } as const;
    const tools = { clock, ledger, report, ...(patience && { patience }) };
    const outcome = await verified(bmcs, tools).bootFrom(wish, {
      seen: (since, given) => watch.untilSeen(machine.id, since, given),
      earlier: await store.bootTimes(machine.id),
      deadline: machine.lifecycle.deadline,
      signal,
    });
    await store.addBootTime(machine.id, outcome.took);
    return outcome;
  }

  /** As it showed itself when it last booted from the network (RFC 4578 §2.1: architecture 0 is BIOS). */
  async #firmwareOf(machine: Machine): Promise<'efi' | 'legacy'> {
    return (await this.#boots(machine)).at(-1)?.data.architecture === 0 ? 'legacy' : 'efi';
  }

  async #boots(machine: Machine): Promise<NewEventOf<'dhcp.discover'>[]> {
    const query = { machine: machine.id, kind: 'dhcp.discover', limit: LOOK_BACK, newest: true };
    return (await this.#settings.store.events(query)).flatMap((stored) => {
      const event = knownEvent(stored);
      return event?.kind === 'dhcp.discover' && isNetworkBoot(event.data) ? [event] : [];
    });
  }
}

/** Never rejects for what the BMC does. */
export async function takenBack(bmc: BootingBmc): Promise<BootReport> {
  const words = 'the boot choice';
  try {
    await bmc.setBoot({ device: 'none', persistent: false, firmware: null });
    return { kind: 'undone', method: 'none', words: `${words} was taken back` };
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    return { kind: 'not-undone', method: 'none', words: `${words} could not be taken back: ${error.message}` };
  }
}
