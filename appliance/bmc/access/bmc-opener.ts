// Opens the BMC of a machine: checks whether that is allowed, and selects protocol and login. No other module creates drivers.

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
import { type BmcEligibility, bmcEligibility } from './bmc-eligibility.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { type BmcLogin, type Logins, loginsOf } from './logins.ts';
import type { ReadPassword } from './password-files.ts';
import { NO_WITNESS, type PowerWitness, witnessed } from './witnessed.ts';

/** The address of a BMC, and the protocol to use. */
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

/** The protocols of a BMC, the preferred one first. */
export const protocolsOf = ({ driver }: BmcEndpoint): readonly DriverName[] => PROTOCOLS[driver];

const driverAddressOf = (
  { address, driver }: BmcEndpoint,
  protocol: DriverName = PROTOCOLS[driver][0],
): DriverAddress => ({
  address,
  driver: protocol,
});

export interface BmcOpenerDeps {
  readonly store: Pick<BmcStore, 'bmcCredentials' | 'confirmPendingBmcCredentials' | 'dropPendingBmcCredentials'>;
  readonly vault: Vault;
  readonly readPassword: ReadPassword;
  readonly now: () => Instant;
  readonly bmcMode: (machine: Machine) => BmcMode | null;
  readonly openDriver: OpenDriver;
  /** Compares the power state with the reports of the machine. Default: nobody does. */
  readonly witness?: () => PowerWitness;
}

/** Receives the actions that a site in recorder mode would have executed. */
export type RecordAction = (action: RecordedAction) => void;

export class BmcOpener {
  readonly #deps: BmcOpenerDeps;
  readonly #logins = new KeyedMutex<MachineId>();

  constructor(deps: BmcOpenerDeps) {
    this.#deps = deps;
  }

  eligibility(machine: Machine): BmcEligibility {
    return bmcEligibility(machine, this.#deps.bmcMode(machine));
  }

  /** Opens, works and closes in every case. Rejects with `bmc_off_limits` if the BMC may not be used. */
  async using<T>(
    machine: Machine,
    record: RecordAction,
    work: (bmc: Bmc) => Promise<T>,
    protocol?: DriverName,
  ): Promise<T> {
    const bmc = await this.open(machine, record, protocol);
    try {
      return await work(bmc);
    } finally {
      await bmc.close();
    }
  }

  /** The caller must close it. */
  async open(machine: Machine, record: RecordAction, protocol?: DriverName): Promise<Bmc> {
    const { mode, endpoint } = this.mustBeOpen(machine);
    if (mode === 'recorder') return recorderBmc(record);
    const bmc = await this.exclusively(machine, () => this.#openReal(machine, endpoint, protocol));
    return witnessed(bmc, machine, this.#deps.witness ?? (() => NO_WITNESS));
  }

  /** Serializes all work that determines or changes the login of a machine's BMC. */
  exclusively<T>(machine: Machine, work: () => Promise<T>): Promise<T> {
    return this.#logins.run(machine.id, work);
  }

  /** For a change of the login itself: no other caller opens this BMC meanwhile. */
  async withLogins<T>(
    machine: Machine,
    work: (logins: Logins, openAs: (login: BmcLogin) => Bmc) => Promise<T>,
  ): Promise<T> {
    const { endpoint } = this.mustBeOpen(machine);
    return this.exclusively(machine, async () => {
      await (await this.#openReal(machine, endpoint)).close();
      const logins = await this.#loginsOf(machine, endpoint);
      return work(logins, (login) => this.#deps.openDriver(machine, driverAddressOf(endpoint), login));
    });
  }

  /** Tries a login that is not saved yet: rejects as the BMC does. */
  async tryLogin(machine: Machine, login: BmcLogin): Promise<void> {
    const { endpoint } = this.mustBeOpen(machine);
    const bmc = this.#deps.openDriver(machine, driverAddressOf(endpoint), login);
    try {
      await bmc.powerState();
    } finally {
      await bmc.close();
    }
  }

  /** For a system that controls the power of this machine itself. The BMC is not contacted. */
  async login({ spec, ...machine }: Machine): Promise<BmcLogin> {
    if (spec.bmc === null) throw new ColdironError('bmc_off_limits', `${spec.hostname}: no BMC is declared for it`);
    return (await this.#loginsOf({ spec, ...machine }, spec.bmc)).current;
  }

  mustBeOpen(machine: Machine): BmcEligibility & { readonly kind: 'open' } {
    const eligibility = this.eligibility(machine);
    if (eligibility.kind === 'open') return eligibility;
    throw new ColdironError('bmc_off_limits', `${machine.spec.hostname}: ${eligibility.reason}`);
  }

  #loginsOf(machine: Machine, endpoint: BmcEndpoint): Promise<Logins> {
    return loginsOf(this.#deps, machine, endpoint);
  }

  async #openReal(machine: Machine, endpoint: BmcEndpoint, protocol?: DriverName): Promise<Bmc> {
    const { store, openDriver } = this.#deps;
    const address = driverAddressOf(endpoint, protocol);
    const { current, pending } = await this.#loginsOf(machine, endpoint);
    if (!pending) return openDriver(machine, address, current);
    const logins = { current: current.password, pending: pending.password };
    return openUnsettled(logins, (password) => openDriver(machine, address, { ...pending, password }), {
      commitPending: async () => {
        await store.confirmPendingBmcCredentials(machine.id, this.#settledAudit(machine, 'the new'));
      },
      dropPending: async () => {
        await store.dropPendingBmcCredentials(machine.id, this.#settledAudit(machine, 'the former'));
      },
    });
  }

  #settledAudit(machine: Machine, which: string): NewAuditEntry {
    return {
      at: this.#deps.now(),
      actor: 'appliance',
      action: 'bmc.rotation-settled',
      target: `node:${machine.spec.hostname}`,
      correlationId: null,
      before: null,
      after: { found: `${which} password is in force` },
    };
  }
}
