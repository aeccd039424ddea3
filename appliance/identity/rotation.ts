// Replaces the authority while every node stays connected:
//
//   stage     creates the next authority and trusts it; the active one cross-signs it
//   activate  the next one signs; the previous one stays trusted
//   finish    when no certificate of the previous one is in use, it is no longer trusted
//
// A node that does not know the next authority still accepts its certificates, because the chain includes the cross
// certificate of the authority it trusts. It gets the next authority with its next renewal.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { AuthorityRecord, CertificateRecord } from '../store/enrollment-store.ts';
import { type AuthorityDeps, activeIssuer, makeAuthority } from './authority.ts';
import { authorityAudit } from './enrollment-records.ts';
import { signCross } from './sign-certificate.ts';

export interface RotationStatus {
  readonly authorities: readonly AuthorityRecord[];
  /** Certificates of the outgoing authority that are in use: it can be retired when there are none. */
  readonly stale: readonly CertificateRecord[];
  /** When the last of them expires; null if there is none. */
  readonly overAt: Instant | null;
}

export interface Rotation {
  status(): Promise<RotationStatus>;
  stage(origin: Origin): Promise<AuthorityRecord>;
  /** `conflict` when none is staged. */
  activate(origin: Origin): Promise<AuthorityRecord>;
  /**
   * Null when no rotation is in progress. `conflict` lists the certificates in use. `despiteHolders` retires the authority
   * anyway: for a compromised key.
   */
  finish(origin: Origin, despiteHolders?: boolean): Promise<AuthorityRecord | null>;
}

export function createRotation(deps: AuthorityDeps): Rotation {
  const { store, now } = deps;
  const inState = async (state: AuthorityRecord['state']): Promise<AuthorityRecord | null> =>
    (await store.authorities()).find((authority) => authority.state === state) ?? null;

  return {
    status: async () => {
      const authorities = await store.authorities();
      const outgoing = authorities.find(({ state }) => state === 'outgoing');
      const stale = outgoing ? await store.heldCertificates({ authority: outgoing.id, now: now() }) : [];
      return { authorities, stale, overAt: stale.at(-1)?.notAfter ?? null };
    },

    stage: async (origin) => {
      const issuer = await activeIssuer(deps);
      const { record, certificate } = await makeAuthority(deps, 'staged');
      const staged = { ...record, crossCertificate: signCross(issuer, certificate, now()).pem };
      await store.stageAuthority(
        staged,
        authorityAudit('authority.staged', record.id, now(), origin, { not_after: instantText(record.notAfter) }),
      );
      return staged;
    },

    activate: async (origin) => {
      const staged = await inState('staged');
      if (!staged) throw new ColdironError('conflict', 'no authority is staged: stage one with coldiron ca rotate');
      // The key must be readable before the authority becomes active.
      await deps.keys.read(staged.id);
      await store.activateAuthority(staged.id, now(), authorityAudit('authority.activated', staged.id, now(), origin));
      return { ...staged, state: 'active', activatedAt: now() };
    },

    finish: async (origin, despiteHolders = false) => {
      const outgoing = await inState('outgoing');
      if (!outgoing) return null;
      await store.retireAuthority(
        outgoing.id,
        now(),
        despiteHolders,
        authorityAudit('authority.retired', outgoing.id, now(), origin, { despite_holders: despiteHolders }),
      );
      return { ...outgoing, state: 'retired', retiredAt: now() };
    },
  };
}
