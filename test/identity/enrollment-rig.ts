// The enrollment of an appliance with a real store and real keys in a scratch folder, and a fixed clock.

import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Origin } from '../../appliance/domain/event.ts';
import { DAY, type Instant } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { Secret } from '../../appliance/domain/secret.ts';
import { type Authority, type AuthorityDeps, openAuthority } from '../../appliance/identity/authority.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { createNodeEnrollment, type NodeEnrollment } from '../../appliance/identity/node-enrollment.ts';
import type { NodeIdentity } from '../../appliance/identity/node-identity.ts';
import { createRotation, type Rotation } from '../../appliance/identity/rotation.ts';
import { DEFAULT_ENROLLMENT_SETTINGS } from '../../appliance/identity/settings.ts';
import { newEnrollmentToken } from '../../appliance/identity/token-text.ts';
import { secretText } from '../../appliance/render/bundle/bundle.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { addMachine, newAudit, newEvent, transitionOf } from '../store/samples.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';
import { writesTo } from '../store/writes.ts';
import { newKeyPem, newRequest } from './openssl.ts';

export const ALICE: Origin = { actor: 'token:alice', correlationId: 'c-1' };

export interface EnrollmentRig {
  readonly file: (name: string) => string;
  readonly store: Store;
  readonly clock: { at: Instant };
  readonly deps: AuthorityDeps;
  readonly authority: Authority;
  readonly rotation: Rotation;
  readonly enrollment: NodeEnrollment;
  /** Stores machine `n` in the enrolling state. */
  machine(n: number): Promise<Machine>;
  /** A valid enrollment token for it, as text. */
  token(machine: Machine): Promise<string>;
  /** Enrolls as a node does: with a new key and a request signed with it. */
  enroll(machine: Machine, token: string): Promise<EnrolledNode>;
}

export interface EnrolledNode {
  readonly keyPem: string;
  readonly certificatePem: string;
  readonly trustPem: string;
  readonly recoveryToken: string;
  readonly notAfter: Instant;
}

export const identityOf = ({ id, spec }: Machine): NodeIdentity => ({
  id,
  hostname: spec.hostname,
  fqdn: `${spec.hostname}.example.com`,
  addresses: [mustParse(parseIpv4('10.0.200.10'))],
});

export const auditActions = async (store: Store): Promise<string[]> =>
  (await store.auditEntries(0, 1000)).map(({ action }) => action);

/** The current time, not a fixed day: OpenSSL and TLS check certificates against the system clock. */
const startOfTest = (): Instant => Math.floor(Date.now() / 1000) * 1000;

export function useEnrollment(passphrase: Secret | null = null): () => EnrollmentRig {
  const scratch = useScratchFolder();
  let rig: EnrollmentRig | undefined;
  beforeEach(async () => {
    rig = await openRig(scratch, passphrase);
  });
  afterEach(async () => {
    await rig?.store.close();
    rig = undefined;
  });
  return () => {
    if (!rig) throw new Error('the rig exists only during a test');
    return rig;
  };
}

async function openRig(file: (name: string) => string, passphrase: Secret | null): Promise<EnrollmentRig> {
  const store = await openSqliteStore({ file: file('coldiron.db') });
  const clock = { at: startOfTest() };
  const now = (): Instant => clock.at;
  const deps: AuthorityDeps = {
    store,
    now,
    keys: await openKeyFolder(join(file('state'), 'ca'), passphrase),
    settings: DEFAULT_ENROLLMENT_SETTINGS,
  };
  const authority = await openAuthority(deps);
  const enrollment = createNodeEnrollment({ ...deps, store, authority, identityOf });
  return {
    file,
    store,
    clock,
    deps,
    authority,
    rotation: createRotation(deps),
    enrollment,
    machine: async (n) => writesTo(store).transition(transitionOf(await addMachine(store, n), 'enrolling')),
    token: (machine) => issuedToken(store, machine, clock.at),
    enroll: async (machine, token) => {
      const keyPem = newKeyPem('ed25519');
      const certificateRequest = newRequest(keyPem, `/CN=${machine.id}`);
      const enrolled = await enrollment.enroll({ nodeId: machine.id, token, certificateRequest, correlationId: null });
      return { ...enrolled, keyPem, recoveryToken: secretText(enrolled.recoveryToken) };
    },
  };
}

export async function issuedToken(
  store: Store,
  machine: Machine,
  at: Instant,
  lifetime: Instant = DAY,
): Promise<string> {
  const { text, ...parts } = newEnrollmentToken();
  const token = {
    ...parts,
    machine: machine.id,
    kind: 'enrollment',
    delivery: 'manual',
    actor: ALICE.actor,
    createdAt: at,
    expiresAt: at + lifetime,
    certificate: null,
  } as const;
  await writesTo(store).issueToken(token, true, newEvent('enrollment.bundle_handed_over'), () =>
    newAudit('node.bundle_handed_over'),
  );
  return secretText(text);
}
