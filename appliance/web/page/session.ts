// Who is signed in. A session that ends does not lose the page: the sign-in form appears above it.

import { signal } from '@preact/signals';
import type { Answer } from '../../contract/wire.ts';
import { mayActAs, type Role } from '../../domain/token.ts';
import { asFailure, call, type Failure, onSignedOut } from './api.ts';
import { followFleet, onRefused, stopFollowing } from './live/live.ts';

export type Who = Answer<'getSession'>;

/** `unknown`: not asked yet. */
export type SignedIn =
  | { readonly state: 'unknown' }
  | { readonly state: 'in'; readonly who: Who }
  /** `reason`: null when nobody was signed in before. */
  | { readonly state: 'out'; readonly reason: string | null }
  | { readonly state: 'unreachable'; readonly failure: Failure };

export const session = signal<SignedIn>({ state: 'unknown' });

export const mayDo = (needed: Role): boolean =>
  session.value.state === 'in' && mayActAs(session.value.who.role, needed);

/** Answers to earlier requests say nothing about this session. */
let signedInAt = 0;

function signedIn(who: Who): void {
  signedInAt = performance.now();
  session.value = { state: 'in', who };
  followFleet();
}

export async function findSession(): Promise<void> {
  try {
    signedIn(await call('getSession', {}));
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'unauthenticated') return;
    session.value = { state: 'unreachable', failure };
  }
}

export async function signIn(proof: { token: string } | { code: string }): Promise<void> {
  await call('signIn', { body: proof });
  // Asked again, because a browser may have refused the cookie: then this says so.
  try {
    signedIn(await call('getSession', {}));
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== 'unauthenticated') throw failure;
    throw new Error(
      'This browser did not keep the cookie, because the connection is not encrypted. Set `tls` in the site file, or use Firefox or Chromium on the appliance itself.',
    );
  }
}

export async function signOut(): Promise<void> {
  try {
    await call('signOut', {});
  } finally {
    stopFollowing();
    session.value = { state: 'out', reason: 'You have signed out.' };
  }
}

export function startSession(): void {
  onSignedOut((failure, askedAt) => {
    if (askedAt < signedInAt) return;
    const was = session.peek();
    session.value = { state: 'out', reason: was.state === 'in' ? failure.message : null };
    stopFollowing();
  });
  // A refused stream does not say why; this request does.
  onRefused(() => void findSession());
  keepAlive();
}

const ALIVE_EVERY_MS = 5 * 60_000;

/** Watching rows sends no requests. While somebody uses the page, the session stays; otherwise it ends by itself. */
function keepAlive(): void {
  let used = false;
  for (const kind of ['pointerdown', 'keydown', 'wheel'] as const) {
    addEventListener(kind, () => (used = true), { passive: true });
  }
  setInterval(() => {
    if (!used || session.peek().state !== 'in') return;
    used = false;
    call('getSession', {}).then(
      (who) => {
        session.value = { state: 'in', who };
      },
      () => undefined,
    );
  }, ALIVE_EVERY_MS);
}
