// Another password for our user at a BMC. At no moment is a password in force that nobody has written down: the new one is kept
// as pending before the BMC hears of it, and until it has been used to log in, the old one is kept as well.

import { SECOND } from '../domain/instant.ts';
import type { Secret } from '../domain/secret.ts';
import type { Bmc } from './bmc.ts';
import { BmcError } from './bmc-error.ts';
import { type BmcClock, pause } from './clock.ts';
import { newPassword } from './password.ts';

/** Where the passwords are kept. Each is on disk when it resolves. */
export interface PasswordKeeper {
  /** Beside the current one. */
  savePending(password: Secret): Promise<void>;
  /** The pending one becomes the current one. */
  commitPending(): Promise<void>;
  /** The current one stays, and the pending one is forgotten. */
  dropPending(): Promise<void>;
}

export interface RotationTools {
  readonly clock: BmcClock;
  /** So many random bytes. */
  readonly random: (bytes: number) => Uint8Array;
}

export interface Rotation {
  readonly current: Secret;
  /** A driver that logs in with this password, in sessions of its own. */
  readonly open: (password: Secret) => Bmc;
  readonly keeper: PasswordKeeper;
  /** Sixteen characters unless told otherwise: what every BMC can keep. */
  readonly length?: number;
}

export type RotationOutcome =
  /** The new password was used to log in, and is the current one. */
  | { readonly kind: 'rotated' }
  /** The BMC did not take it; the old one is in force, which a login has shown. */
  | { readonly kind: 'unchanged'; readonly reason: string }
  /** The BMC took it and does not let us in with it; the old one was set again, which a login has shown. */
  | { readonly kind: 'rolled-back'; readonly reason: string }
  /** It cannot be told which one is in force. Both are kept, and tried at the next opening. */
  | { readonly kind: 'unsettled'; readonly reason: string };

/** BMCs write their users to slow memory, and some answer before that is done. */
const SETTLING = 2 * SECOND;

/** Rejects only while nothing was changed: when the current password does not let us in, or the keeper cannot keep. */
export async function rotatePassword(rotation: Rotation, tools: RotationTools): Promise<RotationOutcome> {
  const { current, open, keeper } = rotation;
  const old = open(current);
  try {
    await old.powerState();
    const fresh = newPassword(tools.random, rotation.length);
    await keeper.savePending(fresh);
    const refusal = await failureOf(old.setOwnPassword(fresh));
    if (refusal && !mayHaveTaken(refusal)) return await settle(rotation, tools, 'unchanged', refusal.message);
    await pause(tools.clock, SETTLING);
    const trouble = await loginTrouble(open, fresh);
    if (!trouble) {
      await keeper.commitPending();
      return { kind: 'rotated' };
    }
    if (trouble.failure !== 'authentication') return unsettled(trouble);
    return await rollBack(rotation, tools, old, refusal ?? trouble);
  } finally {
    await old.close();
  }
}

/** The old session is still open, whatever password is in force now. */
async function rollBack(rotation: Rotation, tools: RotationTools, old: Bmc, why: BmcError): Promise<RotationOutcome> {
  const refusal = await failureOf(old.setOwnPassword(rotation.current));
  await pause(tools.clock, SETTLING);
  const reason = `the BMC accepted a new password and does not let us in with it: ${why.message}`;
  return settle(
    rotation,
    tools,
    'rolled-back',
    refusal ? `${reason}; setting the old one again: ${refusal.message}` : reason,
  );
}

/** Shows that the old password is in force. One more login at most, so that the BMC does not lock us out. */
async function settle(
  { current, open, keeper }: Rotation,
  { clock }: RotationTools,
  kind: 'unchanged' | 'rolled-back',
  reason: string,
): Promise<RotationOutcome> {
  if (kind === 'unchanged') await pause(clock, SETTLING);
  const trouble = await loginTrouble(open, current);
  if (trouble) return unsettled(trouble, reason);
  await keeper.dropPending();
  return { kind, reason };
}

const unsettled = (trouble: BmcError, before?: string): RotationOutcome => ({
  kind: 'unsettled',
  reason: before === undefined ? trouble.message : `${before}; then: ${trouble.message}`,
});

/** It said no in so many words. Anything else, silence above all, leaves it open whether it has taken the password. */
const mayHaveTaken = ({ failure }: BmcError): boolean =>
  !['refused', 'unsupported', 'privilege', 'locked-out', 'authentication'].includes(failure);

export interface HeldPasswords {
  readonly current: Secret;
  readonly pending: Secret;
}

/**
 * After a rotation that was cut short: opens the BMC with whichever password is in force, and settles the matter. The current one
 * first: a login with the new one may have failed just before, and then this one is good. So no BMC sees two failures in a row.
 */
export async function openUnsettled(
  { current, pending }: HeldPasswords,
  open: (password: Secret) => Bmc,
  keeper: Pick<PasswordKeeper, 'commitPending' | 'dropPending'>,
): Promise<Bmc> {
  const withCurrent = await loggedIn(open(current));
  if (withCurrent) {
    await keeper.dropPending();
    return withCurrent;
  }
  const withPending = await loggedIn(open(pending));
  if (withPending) {
    await keeper.commitPending();
    return withPending;
  }
  throw new BmcError(
    'authentication',
    'a change of the password was cut short, and the BMC takes neither the old one nor the new one; somebody else has ' +
      'changed it, or it was set to its defaults',
  );
}

/** Null: it does not take this password. Any other failure says nothing about the password, and is thrown. */
async function loggedIn(bmc: Bmc): Promise<Bmc | null> {
  const trouble = await failureOf(bmc.powerState());
  if (!trouble) return bmc;
  await bmc.close();
  if (trouble.failure === 'authentication') return null;
  throw trouble;
}

async function loginTrouble(open: (password: Secret) => Bmc, password: Secret): Promise<BmcError | null> {
  const bmc = open(password);
  const trouble = await failureOf(bmc.powerState());
  await bmc.close();
  return trouble;
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
