// The certificate authority of this appliance. Its keys are files in the state folder, its records are in the store; the first
// use makes both. What it signs is recorded before anybody gets it.

import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { type GeneralName, generalNameText } from '../codecs/x509/general-name.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import { type Parsed, parsed } from '../domain/parsed.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import type { AuthorityRecord, CertificateRecord, EnrollmentStore, Fingerprint } from '../store/enrollment-store.ts';
import { acceptRequest } from './certificate-request.ts';
import { authorityAudit, certificateAudit } from './enrollment-records.ts';
import { fingerprintOf, shownFingerprint } from './fingerprint.ts';
import type { KeyFolder } from './key-folder.ts';
import { identityNames, type NodeIdentity, serviceCommonName, serviceNames } from './node-identity.ts';
import type { EnrollmentSettings } from './settings.ts';
import { type Issuer, publicKeyInfoOf, type SignedCertificate, signLeaf, signRoot } from './sign-certificate.ts';

export interface AuthorityDeps {
  readonly store: EnrollmentStore;
  readonly keys: KeyFolder;
  readonly now: () => Instant;
  readonly settings: EnrollmentSettings;
}

export interface Trust {
  /** Every authority that is trusted now; the one that signs comes first. */
  readonly pem: string;
  readonly active: Fingerprint;
  /** Of the one that signs, as OpenSSL shows it. */
  readonly shown: string;
}

export interface SignedForNode {
  readonly authority: Fingerprint;
  readonly certificate: SignedCertificate;
  /** The certificate, and what leads from it to the authority before, where there is one. */
  readonly chainPem: string;
}

export interface ServerCredentials {
  readonly chainPem: string;
  readonly keyPem: string;
  readonly trustPem: string;
}

export interface Authority {
  trust(): Promise<Trust>;
  /** Not recorded yet: `redeemToken` or `renewCertificate` does that, in one step with what entitles the node to it. */
  signForNode(identity: NodeIdentity, requestPem: string): Promise<Parsed<SignedForNode>>;
  /** `secrets/<node>-cert.pem`, `secrets/<node>-key.pem`, `secrets/ca-cert.pem`. The key is made here and kept nowhere. */
  serviceFiles(identity: NodeIdentity, onBehalf: Origin): Promise<RenderedFile[]>;
  /** For the node API: what it showed last, also before a restart, as long as that fits; else a new key and certificate. */
  serverCredentials(names: readonly GeneralName[], onBehalf: Origin): Promise<ServerCredentials>;
  /** Certificates in use that end within this time, and the authorities that do. */
  expiring(within: Instant): Promise<{ certificates: CertificateRecord[]; authorities: AuthorityRecord[] }>;
}

export async function openAuthority(dependencies: AuthorityDeps): Promise<Authority> {
  const { store, now, settings } = dependencies;
  await ensureFirst(dependencies);
  // What cannot be read is said at the start, not when the first node knocks.
  await activeIssuer(dependencies);

  const signForNode: Authority['signForNode'] = async (identity, requestPem) => {
    const request = acceptRequest(requestPem, identity);
    if (!request.ok) return request;
    const issuer = await activeIssuer(dependencies);
    const certificate = signLeaf(
      issuer,
      {
        subject: { organization: settings.organization, commonName: identity.id },
        names: identityNames(identity),
        publicKeyInfo: request.value.publicKeyInfo,
        uses: ['clientAuthentication'],
        isRsa: request.value.keyKind === 'rsa',
        lifetime: settings.nodeLifetime,
      },
      now(),
    );
    return parsed({ authority: issuer.record.id, certificate, chainPem: chainOf(issuer, certificate) });
  };

  return {
    trust: async () => trustIn(await store.authorities()),
    signForNode,
    serviceFiles: (identity, onBehalf) => serviceFiles(dependencies, identity, onBehalf),
    serverCredentials: (names, onBehalf) => serverCredentials(dependencies, names, onBehalf),
    expiring: async (within) => {
      const at = now();
      const authorities = await store.authorities();
      return {
        certificates: await store.heldCertificates({ before: at + within, now: at }),
        authorities: authorities.filter(({ state, notAfter }) => state !== 'retired' && notAfter < at + within),
      };
    },
  };
}

async function serviceFiles(
  dependencies: AuthorityDeps,
  identity: NodeIdentity,
  onBehalf: Origin,
): Promise<RenderedFile[]> {
  const { store, now, settings } = dependencies;
  const issuer = await activeIssuer(dependencies);
  const key = newKey();
  const certificate = signLeaf(
    issuer,
    {
      subject: { organization: settings.organization, commonName: serviceCommonName(identity) },
      names: serviceNames(identity),
      publicKeyInfo: publicKeyInfoOf(key),
      uses: ['serverAuthentication', 'clientAuthentication'],
      isRsa: false,
      lifetime: settings.serviceLifetime,
    },
    now(),
  );
  const record = { ...certificate, authority: issuer.record.id, kind: 'service', machine: identity.id } as const;
  await store.recordCertificate(record, certificateAudit(record, `node:${identity.hostname}`, now(), onBehalf));
  const { pem: trustPem } = trustIn(await store.authorities());
  return [
    secretsFile(`${identity.hostname}-cert.pem`, chainOf(issuer, certificate), 0o644),
    { ...secretsFile(`${identity.hostname}-key.pem`, keyPem(key), 0o600), secret: true },
    secretsFile('ca-cert.pem', trustPem, 0o644),
  ];
}

async function serverCredentials(
  dependencies: AuthorityDeps,
  names: readonly GeneralName[],
  onBehalf: Origin,
): Promise<ServerCredentials> {
  const { store, now, settings } = dependencies;
  const issuer = await activeIssuer(dependencies);
  const { pem: trustPem } = trustIn(await store.authorities());
  const last = await lastServerCertificate(dependencies, names, issuer);
  if (last) return { ...last, trustPem };
  const key = newKey();
  const certificate = signLeaf(
    issuer,
    {
      subject: { organization: settings.organization, commonName: `${settings.organization} node API` },
      names,
      publicKeyInfo: publicKeyInfoOf(key),
      uses: ['serverAuthentication'],
      isRsa: false,
      lifetime: settings.serverLifetime,
    },
    now(),
  );
  const record = { ...certificate, authority: issuer.record.id, kind: 'server', machine: null } as const;
  await store.recordCertificate(record, certificateAudit(record, 'appliance:node-api', now(), onBehalf));
  await dependencies.keys.keep(SERVER_KEY, key, certificate.pem);
  return { chainPem: chainOf(issuer, certificate), keyPem: keyPem(key), trustPem };
}

const SERVER_KEY = 'node-api';
/** It is replaced when this much of its time is left, so that a failure has time to be noticed. */
const SHARE_LEFT = 1 / 3;

async function lastServerCertificate(
  { store, keys, now, settings }: AuthorityDeps,
  names: readonly GeneralName[],
  issuer: Issuer,
): Promise<Pick<ServerCredentials, 'chainPem' | 'keyPem'> | null> {
  const kept = await keys.kept(SERVER_KEY);
  if (!kept) return null;
  const record = await store.certificate(fingerprintOf(kept.certificate.raw));
  if (record?.authority !== issuer.record.id || record.revokedAt !== null) return null;
  const named = names.map((name) => (name.kind === 'ip' ? `IP Address:${name.address}` : generalNameText(name)));
  const fits =
    now() <= record.notAfter - settings.serverLifetime * SHARE_LEFT &&
    kept.certificate.subjectAltName === named.join(', ');
  return fits ? { chainPem: chainOf(issuer, { pem: kept.certificate.toString() }), keyPem: keyPem(kept.key) } : null;
}

/** Key first, record second: after a crash in between, a key that nobody knows is left over, and nothing is broken. */
async function ensureFirst(dependencies: AuthorityDeps): Promise<void> {
  const { store, now } = dependencies;
  if ((await store.authorities()).length > 0) return;
  const { record } = await makeAuthority(dependencies, 'active');
  await store.createFirstAuthority(
    record,
    authorityAudit('authority.created', record.id, now(), { actor: 'appliance', correlationId: null }),
  );
}

/** A new key on disk and its own certificate; nobody trusts it yet. */
export async function makeAuthority(
  { keys, now, settings }: AuthorityDeps,
  state: 'active' | 'staged',
): Promise<{ record: AuthorityRecord; certificate: SignedCertificate }> {
  const at = now();
  const key = newKey();
  const certificate = signRoot(key, settings.organization, settings.authorityLifetime, at);
  await keys.write(certificate.fingerprint, key);
  const record: AuthorityRecord = {
    id: certificate.fingerprint,
    state,
    certificate: certificate.pem,
    crossCertificate: null,
    createdAt: at,
    notAfter: certificate.notAfter,
    activatedAt: state === 'active' ? at : null,
    retiredAt: null,
  };
  return { record, certificate };
}

/** Read each time: another process may have rotated. */
export async function activeIssuer({ store, keys }: Pick<AuthorityDeps, 'store' | 'keys'>): Promise<Issuer> {
  const record = activeIn(await store.authorities());
  const key = await keys.read(record.id);
  if (!new X509Certificate(record.certificate).checkPrivateKey(key)) {
    throw new ColdironError('authority_unavailable', `the key file of authority ${record.id} holds another key`);
  }
  return { record, key };
}

export function activeIn(authorities: readonly AuthorityRecord[]): AuthorityRecord {
  const active = authorities.find(({ state }) => state === 'active');
  if (!active) throw new ColdironError('authority_unavailable', 'no authority is active');
  return active;
}

export function trustIn(authorities: readonly AuthorityRecord[]): Trust {
  const active = activeIn(authorities);
  const others = authorities.filter(({ state }) => state === 'staged' || state === 'outgoing');
  return {
    pem: [active, ...others].map(({ certificate }) => certificate).join(''),
    active: active.id,
    shown: shownFingerprint(active.id),
  };
}

/** Who trusts only the authority before this one gets from the certificate to there. */
const chainOf = ({ record }: Issuer, { pem }: Pick<SignedCertificate, 'pem'>): string =>
  pem + (record.crossCertificate ?? '');

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const keyPem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString();
const secretsFile = (name: string, text: string, mode: number): RenderedFile => ({
  path: `secrets/${name}`,
  text,
  mode,
  secret: false,
});
