// Opens the BMC of a machine: whether that is allowed, over which protocol, and as whom. Nobody else makes drivers.

import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { BmcEndpoint, Machine, MachineId } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { BmcStore } from '../../store/bmc-store.ts';
import type { Bmc } from '../bmc.ts';
import type { DriverName } from '../boot-methods.ts';
import { type RecordedAction, recorderBmc } from '../recorder.ts';
import { openUnsettled } from '../rotate.ts';
import { type BmcStanding, bmcStanding } from './bmc-eligibility.ts';
import { type BmcLogin, type Logins, loginsOf } from './logins.ts';
import { Turns } from './turns.ts';

/** Where a BMC is, and what is spoken there. */
export interface DriverAddress {
  readonly address: Ipv4;
  readonly driver: DriverName;
}

export type OpenDriver = (machine: Machine, at: DriverAddress, login: BmcLogin) => Bmc;

const PROTOCOLS: { readonly [driver in BmcEndpoint['driver']]: readonly [DriverName, ...DriverName[]] } = {
  ipmi: ['ipmi'],
  redfish: ['redfish'],
  'ipmi+redfish': ['ipmi', 'redfish'],
};

/** What a BMC speaks, the one that everything is asked in first. */
export const protocolsOf = ({ driver }: BmcEndpoint): readonly DriverName[] => PROTOCOLS[driver];

const driverAddressOf = (
  { address, driver }: BmcEndpoint,
  protocol: DriverName = PROTOCOLS[driver][0],
): DriverAddress => ({
  address,
  driver: protocol,
});

export interface BmcDeskSettings {
  readonly store: Pick<BmcStore, 'bmcCredentials' | 'confirmPendingBmcCredentials' | 'dropPendingBmcCredentials'>;
  readonly vault: Vault;
  readonly now: () => Instant;
  readonly bmcMode: (machine: Machine) => BmcMode | null;
  readonly openDriver: OpenDriver;
}

/** Hears what a site that only records would have had done. */
export type Record = (action: RecordedAction) => void;

export class BmcOpener {
  readonly #settings: BmcDeskSettings;
  readonly #logins = new Turns<MachineId>();

  constructor(settings: BmcDeskSettings) {
    this.#settings = settings;
  }

  standing(machine: Machine): BmcStanding {
    return bmcStanding(machine, this.#settings.bmcMode(machine));
  }

  /** Opens, works and closes, however the work ends. `bmc_off_limits` where the BMC may not be touched. */
  async using<T>(machine: Machine, record: Record, work: (bmc: Bmc) => Promise<T>, protocol?: DriverName): Promise<T> {
    const bmc = await this.open(machine, record, protocol);
    try {
      return await work(bmc);
    } finally {
      await bmc.close();
    }
  }

  /** The caller closes it. */
  async open(machine: Machine, record: Record, protocol?: DriverName): Promise<Bmc> {
    const { mode, endpoint } = this.mustBeOpen(machine);
    if (mode === 'recorder') return recorderBmc(record);
    return this.exclusively(machine, () => this.#openReal(machine, endpoint, protocol));
  }

  /** While a login is looked at or changed, nobody else finds out which one is good. */
  exclusively<T>(machine: Machine, work: () => Promise<T>): Promise<T> {
    return this.#logins.take(machine.id, work);
  }

  /** For changing the login itself: meanwhile nobody else opens this BMC. */
  async withLogins<T>(
    machine: Machine,
    work: (logins: Logins, openAs: (login: BmcLogin) => Bmc) => Promise<T>,
  ): Promise<T> {
    const { endpoint } = this.mustBeOpen(machine);
    return this.exclusively(machine, async () => {
      await (await this.#openReal(machine, endpoint)).close();
      const logins = await this.#loginsOf(machine, endpoint);
      return work(logins, (login) => this.#settings.openDriver(machine, driverAddressOf(endpoint), login));
    });
  }

  /** Whether a login that nobody keeps yet is good: rejects as the BMC does. */
  async tryLogin(machine: Machine, login: BmcLogin): Promise<void> {
    const { endpoint } = this.mustBeOpen(machine);
    const bmc = this.#settings.openDriver(machine, driverAddressOf(endpoint), login);
    try {
      await bmc.powerState();
    } finally {
      await bmc.close();
    }
  }

  mustBeOpen(machine: Machine): BmcStanding & { readonly kind: 'open' } {
    const standing = this.standing(machine);
    if (standing.kind === 'open') return standing;
    throw new ColdironError('bmc_off_limits', `${machine.spec.hostname}: ${standing.reason}`);
  }

  #loginsOf(machine: Machine, endpoint: BmcEndpoint): Promise<Logins> {
    return loginsOf(this.#settings.store, this.#settings.vault, machine, endpoint);
  }

  async #openReal(machine: Machine, endpoint: BmcEndpoint, protocol?: DriverName): Promise<Bmc> {
    const { store, openDriver } = this.#settings;
    const door = driverAddressOf(endpoint, protocol);
    const { current, pending } = await this.#loginsOf(machine, endpoint);
    if (!pending) return openDriver(machine, door, current);
    const logins = { current: current.password, pending: pending.password };
    return openUnsettled(logins, (password) => openDriver(machine, door, { ...pending, password }), {
      commitPending: async () => {
        await store.confirmPendingBmcCredentials(machine.id, this.#settledAudit(machine, 'the new'));
      },
      dropPending: async () => {
        await store.dropPendingBmcCredentials(machine.id, this.#settledAudit(machine, 'the former'));
      },
    });
  }

  #settledAudit(machine: Machine, good: string): NewAuditEntry {
    return {
      at: this.#settings.now(),
      actor: 'appliance',
      action: 'bmc.rotation-settled',
      target: `node:${machine.spec.hostname}`,
      correlationId: null,
      before: null,
      after: { found: `${good} password is good` },
    };
  }
}
