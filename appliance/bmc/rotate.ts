// Changes the password of our user at a BMC. Every password that can be in force is on disk: the new one is saved as pending
// before it is sent to the BMC, and the old one is kept until a login with the new one has succeeded.

import { SECOND } from '../domain/instant.ts';
import type { Secret } from '../domain/secret.ts';
import type { Bmc } from './bmc.ts';
import { BmcError } from './bmc-error.ts';
import { type BmcClock, pause } from './clock.ts';
import { newPassword } from './password.ts';

/** Persists the passwords. Each promise resolves when the change is on disk. */
export interface PasswordStore {
  /** Keeps the current one too. */
  savePending(password: Secret): Promise<void>;
  /** The pending one becomes the current one. */
  commitPending(): Promise<void>;
  /** Keeps the current one, and deletes the pending one. */
  dropPending(): Promise<void>;
}

export interface RotationDeps {
  readonly clock: BmcClock;
  /** Returns this many random bytes. */
  readonly random: (bytes: number) => Uint8Array;
}

export interface Rotation {
  readonly current: Secret;
  /** A driver that logs in with this password, in its own sessions. */
  readonly open: (password: Secret) => Bmc;
  readonly store: PasswordStore;
  /** Default: sixteen characters, which every BMC can store. */
  readonly length?: number;
}

export type RotationOutcome =
  /** A login with the new password has succeeded, and it is the current one. */
  | { readonly kind: 'rotated' }
  /** The BMC did not change it; a login has verified that the old one is in force. */
  | { readonly kind: 'unchanged'; readonly reason: string }
  /** The BMC accepted the change but rejects the new one; the old one was set again, and a login has verified it. */
  | { readonly kind: 'rolled-back'; readonly reason: string }
  /** It is unknown which one is in force. Both are kept, and the next opening tries both. */
  | { readonly kind: 'unsettled'; readonly reason: string };

/** BMCs write their users to slow memory, and some reply before that is complete. */
const SETTLING = 2 * SECOND;

/** Rejects only while nothing has changed: when the current password is rejected, or the password cannot be saved. */
export async function rotatePassword(rotation: Rotation, deps: RotationDeps): Promise<RotationOutcome> {
  const { current, open, store } = rotation;
  const old = open(current);
  try {
    await old.powerState();
    const fresh = newPassword(deps.random, rotation.length);
    await store.savePending(fresh);
    const rejection = await failureOf(old.setOwnPassword(fresh));
    if (rejection && !mayHaveChanged(rejection)) return await settle(rotation, deps, 'unchanged', rejection.message);
    await pause(deps.clock, SETTLING);
    const failure = await loginFailure(open, fresh);
    if (!failure) {
      await store.commitPending();
      return { kind: 'rotated' };
    }
    if (failure.failure !== 'authentication') return unsettled(failure);
    return await rollBack(rotation, deps, old, rejection ?? failure);
  } finally {
    await old.close();
  }
}

/** The old session is still open, whichever password is in force now. */
async function rollBack(rotation: Rotation, deps: RotationDeps, old: Bmc, why: BmcError): Promise<RotationOutcome> {
  const rejection = await failureOf(old.setOwnPassword(rotation.current));
  await pause(deps.clock, SETTLING);
  const reason = `the BMC accepted a new password but rejects a login with it: ${why.message}`;
  return settle(
    rotation,
    deps,
    'rolled-back',
    rejection ? `${reason}; setting the old password again failed: ${rejection.message}` : reason,
  );
}

/** Verifies that the old password is in force. At most one more login, so that the BMC does not lock us out. */
async function settle(
  { current, open, store }: Rotation,
  { clock }: RotationDeps,
  kind: 'unchanged' | 'rolled-back',
  reason: string,
): Promise<RotationOutcome> {
  if (kind === 'unchanged') await pause(clock, SETTLING);
  const failure = await loginFailure(open, current);
  if (failure) return unsettled(failure, reason);
  await store.dropPending();
  return { kind, reason };
}

const unsettled = (failure: BmcError, before?: string): RotationOutcome => ({
  kind: 'unsettled',
  reason: before === undefined ? failure.message : `${before}; then: ${failure.message}`,
});

/** False: an explicit rejection. After any other failure, a timeout above all, the password may have changed. */
const mayHaveChanged = ({ failure }: BmcError): boolean =>
  !['refused', 'unsupported', 'privilege', 'locked-out', 'authentication'].includes(failure);

export interface RotationPasswords {
  readonly current: Secret;
  readonly pending: Secret;
}

/**
 * After an interrupted rotation: opens the BMC with the password that is in force, and commits or drops the pending one. The
 * current one comes first: if a login with the new one just failed, this one succeeds, and no BMC sees two failures in a row.
 */
export async function openUnsettled(
  { current, pending }: RotationPasswords,
  open: (password: Secret) => Bmc,
  store: Pick<PasswordStore, 'commitPending' | 'dropPending'>,
): Promise<Bmc> {
  const withCurrent = await loggedIn(open(current));
  if (withCurrent) {
    await store.dropPending();
    return withCurrent;
  }
  const withPending = await loggedIn(open(pending));
  if (withPending) {
    await store.commitPending();
    return withPending;
  }
  throw new BmcError(
    'authentication',
    'a password change was interrupted, and the BMC accepts neither the old nor the new password: it was changed elsewhere or ' +
      'reset to factory defaults; set the password at the BMC and in the inventory',
  );
}

/** Null: the BMC rejects this password. Any other failure says nothing about the password, and is thrown. */
async function loggedIn(bmc: Bmc): Promise<Bmc | null> {
  const failure = await failureOf(bmc.powerState());
  if (!failure) return bmc;
  await bmc.close();
  if (failure.failure === 'authentication') return null;
  throw failure;
}

async function loginFailure(open: (password: Secret) => Bmc, password: Secret): Promise<BmcError | null> {
  const bmc = open(password);
  const failure = await failureOf(bmc.powerState());
  await bmc.close();
  return failure;
}

async function failureOf(step: Promise<unknown>): Promise<BmcError | null> {
  try {
    await step;
    return null;
  } catch (error) {
    if (error instanceof BmcError) return error;
    throw error;
  }
}
