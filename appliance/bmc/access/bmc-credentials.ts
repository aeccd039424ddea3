// The credentials of BMCs: set by an operator, or rotated by the appliance to a random password.

import { randomBytes } from 'node:crypto';
import { ColdironError } from '../../domain/errors.ts';
import type { Json, NewAuditEntry, Origin } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { BmcEndpoint, Machine } from '../../domain/machine.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { BmcStore } from '../../store/bmc-store.ts';
import type { BmcClock } from '../clock.ts';
import { type PasswordStore, type RotationOutcome, rotatePassword } from '../rotate.ts';
import type { BmcOpener } from './bmc-opener.ts';
import { explained } from './failure.ts';
import { type BmcLogin, sealed } from './logins.ts';
import type { BmcMemory } from './memory.ts';
import type { Done, NodeBmcs } from './node-bmcs.ts';

export interface BmcCredentialsDeps {
  readonly opener: Pick<BmcOpener, 'eligibility' | 'mustBeOpen' | 'exclusively' | 'tryLogin' | 'withLogins'>;
  readonly nodes: Pick<NodeBmcs, 'audited'>;
  readonly store: Pick<
    BmcStore,
    'setBmcCredentials' | 'setPendingBmcCredentials' | 'confirmPendingBmcCredentials' | 'dropPendingBmcCredentials'
  >;
  readonly vault: Vault;
  readonly memory: Pick<BmcMemory, 'forget'>;
  readonly now: () => Instant;
  readonly clock: BmcClock;
}

const NOW_IN_FORCE: Readonly<Record<RotationOutcome['kind'], string>> = {
  rotated: 'the new password is in force',
  unchanged: 'the old password is in force',
  'rolled-back': 'the old password is in force again',
  unsettled: 'both passwords are kept, and the next use determines which one is in force',
};

function mustBeRotated({ spec: { hostname } }: Machine, outcome: RotationOutcome): void {
  if (outcome.kind === 'rotated') return;
  throw new ColdironError('bmc_failed', `${hostname}: ${outcome.reason}; ${NOW_IN_FORCE[outcome.kind]}`);
}

function declared({ spec: { bmc, hostname } }: Machine): BmcEndpoint {
  if (!bmc) throw new ColdironError('bmc_off_limits', `${hostname}: no BMC is declared for it`);
  return bmc;
}

export class BmcCredentials {
  readonly #deps: BmcCredentialsDeps;

  constructor(deps: BmcCredentialsDeps) {
    this.#deps = deps;
  }

  /** With `check`, they are saved only after a login with them has succeeded. A BMC that may not be used is not contacted. */
  async set(machine: Machine, by: Origin, login: BmcLogin, check: boolean): Promise<{ checked: boolean }> {
    const { opener, store, vault, now } = this.#deps;
    const { address } = declared(machine);
    const eligibility = opener.eligibility(machine);
    const checked = check && eligibility.kind === 'open' && eligibility.mode === 'real';
    const audit = this.#audit(machine, by, 'credentials-set', { username: login.username, address, checked });
    // A password that is being rotated right now must not be overwritten in the store.
    await opener.exclusively(machine, async () => {
      if (checked) await this.#mustLogIn(machine, login);
      await store.setBmcCredentials(machine.id, sealed(vault, machine.id, address, login, now()), audit);
    });
    return { checked };
  }

  async #mustLogIn(machine: Machine, login: BmcLogin): Promise<void> {
    try {
      await this.#deps.opener.tryLogin(machine, login);
    } catch (error) {
      throw explained(error, machine);
    }
  }

  /** A new random password, in force and saved in the vault, or the old one with a reason; never an unsaved one. */
  async rotate(machine: Machine, by: Origin): Promise<Done<{ username: string }>> {
    const { opener, nodes, clock } = this.#deps;
    const { mode } = opener.mustBeOpen(machine);
    return nodes.audited(machine, by, { what: 'rotate', details: {} }, async (record) => {
      if (mode === 'recorder') {
        record('set-own-password');
        return { username: machine.spec.bmc?.username ?? 'unknown' };
      }
      return opener.withLogins(machine, async ({ current }, openAs) => {
        const open = (password: Secret) => openAs({ ...current, password });
        const passwords = this.#passwordStore(machine, by, current);
        const deps = { clock, random: (bytes: number) => Uint8Array.from(randomBytes(bytes)) };
        mustBeRotated(machine, await rotatePassword({ current: current.password, open, store: passwords }, deps));
        return { username: current.username };
      });
    });
  }

  #passwordStore(machine: Machine, by: Origin, current: BmcLogin): PasswordStore {
    const { store, vault, now } = this.#deps;
    const { address } = declared(machine);
    const { username } = current;
    const audit = (what: string): NewAuditEntry => this.#audit(machine, by, what, { username });
    return {
      savePending: (password) => {
        const pending = sealed(vault, machine.id, address, { ...current, password }, now());
        return store.setPendingBmcCredentials(machine.id, pending, audit('rotation-begun'));
      },
      commitPending: async () => {
        const confirmed = await store.confirmPendingBmcCredentials(machine.id, audit('rotated'));
        if (!confirmed) throw new Error(`the new password of ${machine.spec.hostname}'s BMC is no longer in the store`);
      },
      dropPending: async () => {
        await store.dropPendingBmcCredentials(machine.id, audit('rotation-undone'));
      },
    };
  }

  async forgetCertificate(machine: Machine, by: Origin): Promise<void> {
    const { address } = declared(machine);
    const audit = this.#audit(machine, by, 'certificate-forgotten', { address });
    if (!(await this.#deps.memory.forget(address, audit))) {
      const { hostname } = machine.spec;
      throw new ColdironError('conflict', `${hostname}: no certificate of its BMC ${address} is pinned`);
    }
  }

  #audit(machine: Machine, { actor, correlationId }: Origin, what: string, after: Json): NewAuditEntry {
    const at = this.#deps.now();
    return {
      at,
      actor,
      action: `bmc.${what}`,
      target: `node:${machine.spec.hostname}`,
      correlationId,
      before: null,
      after,
    };
  }
}
