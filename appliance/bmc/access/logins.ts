// The login for a machine's BMC: from the vault, otherwise from its inventory entry.

import { ColdironError } from '../../domain/errors.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { BmcEndpoint, Machine, MachineId } from '../../domain/machine.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Vault } from '../../identity/vault/vault.ts';
import type { BmcStore, HeldCredentials, SealedCredentials } from '../../store/bmc-store.ts';
import type { ReadPassword } from './password-files.ts';

export interface BmcLogin {
  readonly username: string;
  readonly password: Secret;
  /** The BMC key (Kg) of IPMI; null: none. */
  readonly key: Secret | null;
}

export interface Logins {
  /** The last login that is known to work. */
  readonly current: BmcLogin;
  /** The login of an interrupted password change; null: none. */
  readonly pending: BmcLogin | null;
}

export interface LoginSources {
  readonly store: Pick<BmcStore, 'bmcCredentials'>;
  readonly vault: Vault;
  readonly readPassword: ReadPassword;
}

export async function loginsOf(
  { store, vault, readPassword }: LoginSources,
  machine: Machine,
  endpoint: BmcEndpoint,
): Promise<Logins> {
  const { current, pending } = await store.bmcCredentials(machine.id);
  return {
    current: current
      ? unsealed(vault, machine, endpoint, current)
      : await fromInventory(readPassword, machine, endpoint),
    pending: pending && unsealed(vault, machine, endpoint, pending),
  };
}

/** Bound to the BMC at this address. */
export const sealed = (
  vault: Vault,
  machine: MachineId,
  address: Ipv4,
  login: BmcLogin,
  setAt: Instant,
): SealedCredentials => ({
  username: login.username,
  password: vault.seal({ machine, purpose: 'bmc-password' }, address, login.password),
  key: login.key && vault.seal({ machine, purpose: 'bmc-key' }, address, login.key),
  setAt,
});

function unsealed(
  vault: Vault,
  { id: machine, spec: { hostname } }: Machine,
  { address }: BmcEndpoint,
  held: SealedCredentials,
): BmcLogin {
  try {
    return {
      username: held.username,
      password: vault.open({ machine, purpose: 'bmc-password' }, address, held.password),
      key: held.key && vault.open({ machine, purpose: 'bmc-key' }, address, held.key),
    };
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    throw new ColdironError(error.code, `${hostname}: ${error.message}`);
  }
}

export interface Resealed {
  readonly machines: number;
  /** What could not be opened, one sentence each. It is not changed. */
  readonly problems: readonly string[];
}

/** Seals again what an older key sealed, so that the older key can be deleted from its file. */
export async function resealAll(
  store: Pick<BmcStore, 'allBmcCredentials' | 'resealBmcCredentials'>,
  vault: Vault,
): Promise<Resealed> {
  const problems: string[] = [];
  let machines = 0;
  for (const { machine, held } of await store.allBmcCredentials()) {
    if (isFresh(vault, held)) continue;
    try {
      await store.resealBmcCredentials(machine, held, {
        current: sealedAnew(vault, machine, held.current),
        pending: sealedAnew(vault, machine, held.pending),
      });
      machines += 1;
    } catch (error) {
      if (!(error instanceof ColdironError) || error.code !== 'vault_unavailable') throw error;
      problems.push(error.message);
    }
  }
  return { machines, problems };
}

const sealedAnew = (vault: Vault, machine: MachineId, old: SealedCredentials | null): SealedCredentials | null =>
  old && {
    ...old,
    password: vault.reseal({ machine, purpose: 'bmc-password' }, old.password),
    key: old.key && vault.reseal({ machine, purpose: 'bmc-key' }, old.key),
  };

const isFresh = (vault: Vault, { current, pending }: HeldCredentials): boolean =>
  [current?.password, current?.key, pending?.password, pending?.key].every((text) => !text || vault.isFresh(text));

async function fromInventory(
  readPassword: ReadPassword,
  { spec: { hostname } }: Machine,
  { username, passwordFile }: BmcEndpoint,
): Promise<BmcLogin> {
  if (username === null || passwordFile === null) {
    throw new ColdironError(
      'bmc_login_failed',
      `${hostname}: no credentials for its BMC: set them in the inventory, or with coldiron bmc set-credentials ${hostname} --username NAME`,
    );
  }
  return { username, password: await readPassword(hostname, passwordFile), key: null };
}
