// Boots a machine from the network, and does not trust the BMC: the boot counts only after a request of the machine's own loader.

import type { NewEventOf } from '../../domain/event.ts';
import { knownEvent } from '../../domain/events/known-event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { BmcError } from '../bmc-error.ts';
import type { BootWait } from '../boot-wait.ts';
import type { BmcClock } from '../clock.ts';
import type { QuirkLedger } from '../quirk-ledger.ts';
import { type BootingBmc, type BootReport, type NamedBmc, verified } from '../verified.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';
import { type BootWatch, isNetworkBoot } from './boot-watch.ts';
import { openedEachTime } from './opened-each-time.ts';
import { MovedOn, whileInState } from './state-visit.ts';
import { NO_WITNESS, type PowerWitness } from './witnessed.ts';

export interface NetworkBootDeps {
  readonly opener: Pick<BmcOpener, 'using' | 'mustBeOpen'>;
  readonly watch: Pick<BootWatch, 'lastSeen' | 'untilSeen'>;
  readonly store: Pick<
    Store,
    'events' | 'bootTimes' | 'addBootTime' | 'setPersistentBootOverride' | 'deletePersistentBootOverride'
  >;
  readonly ledger: QuirkLedger;
  readonly clock: BmcClock;
  /** The current machine; null: removed. */
  readonly current: (machine: MachineId) => Machine | null;
  /** Calls the listener after each change of the machine. Returns unsubscribe. */
  readonly onChange: (machine: MachineId, listener: () => void) => () => void;
  /** Aborted when the appliance stops. */
  readonly stopping: AbortSignal;
  readonly bootWait?: BootWait;
  /** Default: nobody compares the power state with reports. */
  readonly witness?: () => PowerWitness;
}

export type NetworkBootOutcome =
  | { readonly kind: 'seen'; readonly method: string; readonly took: number }
  | { readonly kind: 'moved-on'; readonly reason: string };

/** DHCP packets that are searched for the last one of a boot. */
const MOST_PACKETS = 50;

export class NetworkBoot {
  readonly #deps: NetworkBootDeps;

  constructor(deps: NetworkBootDeps) {
    this.#deps = deps;
  }

  /** Includes boots seen by an earlier process, from the trail. */
  async bootedSince(machine: Machine, since: Instant): Promise<boolean> {
    if (this.#deps.watch.lastSeen(machine.id, since) !== null) return true;
    if ((await this.#boots(machine)).some(({ at }) => at >= since)) return true;
    const scripts = await this.#deps.store.events({ machine: machine.id, kind: 'http.script', limit: 1, newest: true });
    return scripts.some(({ at }) => at >= since);
  }

  /** Rejects with a BmcError when no method worked. Every attempt is reported while it runs. */
  async bootFromNetwork(machine: Machine, publish: (report: BootReport) => Promise<void>): Promise<NetworkBootOutcome> {
    const { opener, current, onChange, stopping } = this.#deps;
    const { endpoint } = opener.mustBeOpen(machine);
    const visit = whileInState(machine, {
      current: () => current(machine.id),
      onChange: (listener) => onChange(machine.id, listener),
    });
    let reported = Promise.resolve();
    const report = (details: BootReport): Promise<void> => {
      reported = reported.then(() => this.#remember(machine, details)).then(() => publish(details));
      // It is awaited when the boot is over, perhaps minutes later; until then a rejection must not count as unhandled.
      reported.catch(() => undefined);
      return reported;
    };
    let lastSet: BootingBmc | null = null;
    const bmcs = protocolsOf(endpoint).map((driver): NamedBmc => {
      // A boot takes minutes, and the password may change meanwhile: no session lasts longer than a verb.
      const bmc = openedEachTime((work) => opener.using(machine, () => undefined, work, driver));
      const setBoot: BootingBmc['setBoot'] = (choice) => {
        lastSet = bmc;
        return bmc.setBoot(choice);
      };
      return { driver, bmc: { ...bmc, setBoot } };
    });
    try {
      const outcome = await this.#verified(machine, bmcs, report, AbortSignal.any([visit.signal, stopping]));
      return { kind: 'seen', ...outcome };
    } catch (error) {
      // After a stop of the appliance the boot is still wanted; after a change of the machine's state it is not.
      if (!(error instanceof MovedOn)) throw error;
      if (lastSet) void report(await removeOverride(lastSet));
      return { kind: 'moved-on', reason: error.message };
    } finally {
      visit.end();
      await reported;
    }
  }

  /** Before the BMC receives a persistent override, and once it is removed: the next process must know about it. */
  async #remember({ id: machine }: Machine, { kind, method }: BootReport): Promise<void> {
    const { store, clock } = this.#deps;
    if (kind === 'lasting') await store.setPersistentBootOverride({ machine, method, setAt: clock.now() });
    if (kind === 'undone') await store.deletePersistentBootOverride(machine);
  }

  async #verified(
    machine: Machine,
    bmcs: readonly NamedBmc[],
    report: (report: BootReport) => Promise<void>,
    signal: AbortSignal,
  ) {
    const { watch, store, ledger, clock, bootWait } = this.#deps;
    const target = { device: 'network', firmware: await this.#firmwareOf(machine) } as const;
    const beforeStart = (bmc: BootingBmc, given = signal): Promise<void> => this.#heldOff(machine, bmc, given);
    const deps = { clock, ledger, report, beforeStart, ...(bootWait && { bootWait }) };
    const outcome = await verified(bmcs, deps).bootFrom(target, {
      seen: (since, given) => watch.untilSeen(machine.id, since, given),
      earlier: await store.bootTimes(machine.id),
      deadline: machine.lifecycle.deadline,
      signal,
    });
    await store.addBootTime(machine.id, outcome.took);
    return outcome;
  }

  /** If its node goes on reporting meanwhile, the reading quarantines it, and the boot is cancelled. */
  async #heldOff(machine: Machine, bmc: BootingBmc, signal: AbortSignal): Promise<void> {
    const witness = (this.#deps.witness ?? (() => NO_WITNESS))();
    await witness.heldOff(machine, Number.POSITIVE_INFINITY, signal);
    signal.throwIfAborted();
    if (witness.expects(machine)) await bmc.powerState();
  }

  /** As its last network boot showed (RFC 4578 §2.1: architecture 0 is BIOS). */
  async #firmwareOf(machine: Machine): Promise<'efi' | 'legacy'> {
    return (await this.#boots(machine)).at(-1)?.data.architecture === 0 ? 'legacy' : 'efi';
  }

  async #boots(machine: Machine): Promise<NewEventOf<'dhcp.discover'>[]> {
    const query = { machine: machine.id, kind: 'dhcp.discover', limit: MOST_PACKETS, newest: true };
    return (await this.#deps.store.events(query)).flatMap((stored) => {
      const event = knownEvent(stored);
      return event?.kind === 'dhcp.discover' && isNetworkBoot(event.data) ? [event] : [];
    });
  }
}

/** Never rejects with a BmcError. */
export async function removeOverride(bmc: BootingBmc): Promise<BootReport> {
  const words = 'the boot override';
  try {
    await bmc.setBoot({ device: 'none', persistent: false, firmware: null });
    return { kind: 'undone', method: 'none', words: `${words} was removed` };
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    return { kind: 'not-undone', method: 'none', words: `${words} could not be removed: ${error.message}` };
  }
}
