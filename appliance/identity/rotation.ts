// One authority takes the place of another without anybody being cut off:
//
//   stage     the next one is made and trusted; it also carries the signature of the one in use
//   activate  it signs from now on; the one before stays trusted
//   finish    nobody holds a certificate of the one before any more: it is trusted no longer
//
// A node that has not heard of the next one still accepts what that one signs, because the chain leads on to the one that it
// knows. It hears of it with its next renewal.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { AuthorityRecord, CertificateRecord } from '../store/enrollment-store.ts';
import { type AuthorityDeps, activeIssuer, makeAuthority } from './authority.ts';
import { authorityAudit } from './enrollment-records.ts';
import { signCross } from './sign-certificate.ts';

export interface RotationStatus {
  readonly authorities: readonly AuthorityRecord[];
  /** What is still in use of the outgoing one: it can go when this is empty. */
  readonly stale: readonly CertificateRecord[];
  /** When the last of them ends, whatever anybody does; null when there is none. */
  readonly overAt: Instant | null;
}

export interface Rotation {
  status(): Promise<RotationStatus>;
  stage(onBehalf: Origin): Promise<AuthorityRecord>;
  /** `conflict` when none is staged. */
  activate(onBehalf: Origin): Promise<AuthorityRecord>;
  /**
   * Null when no rotation is under way. `conflict` lists who would be cut off; with `despiteHolders` they are: for a key that
   * somebody else may have.
   */
  finish(onBehalf: Origin, despiteHolders?: boolean): Promise<AuthorityRecord | null>;
}

export function createRotation(dependencies: AuthorityDeps): Rotation {
  const { store, now } = dependencies;
  const inState = async (state: AuthorityRecord['state']): Promise<AuthorityRecord | null> =>
    (await store.authorities()).find((authority) => authority.state === state) ?? null;

  return {
    status: async () => {
      const authorities = await store.authorities();
      const outgoing = authorities.find(({ state }) => state === 'outgoing');
      const stale = outgoing ? await store.heldCertificates({ authority: outgoing.id, now: now() }) : [];
      return { authorities, stale, overAt: stale.at(-1)?.notAfter ?? null };
    },

    stage: async (onBehalf) => {
      const issuer = await activeIssuer(dependencies);
      const { record, certificate } = await makeAuthority(dependencies, 'staged');
      const staged = { ...record, crossCertificate: signCross(issuer, certificate, now()).pem };
      await store.stageAuthority(
        staged,
        authorityAudit('authority.staged', record.id, now(), onBehalf, { not_after: instantText(record.notAfter) }),
      );
      return staged;
    },

    activate: async (onBehalf) => {
      const staged = await inState('staged');
      if (!staged) throw new ColdironError('conflict', 'no authority is staged: coldiron ca rotate stages one');
      // Before it signs for everybody: its key must be here.
      await dependencies.keys.read(staged.id);
      await store.activateAuthority(
        staged.id,
        now(),
        authorityAudit('authority.activated', staged.id, now(), onBehalf),
      );
      return { ...staged, state: 'active', activatedAt: now() };
    },

    finish: async (onBehalf, despiteHolders = false) => {
      const outgoing = await inState('outgoing');
      if (!outgoing) return null;
      await store.retireAuthority(
        outgoing.id,
        now(),
        despiteHolders,
        authorityAudit('authority.retired', outgoing.id, now(), onBehalf, { despite_holders: despiteHolders }),
      );
      return { ...outgoing, state: 'retired', retiredAt: now() };
    },
  };
}
