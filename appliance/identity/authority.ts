// The certificate authority of this appliance. Its keys are files in the state folder, its records are in the store; the first
// use creates both. Each certificate is recorded before it is delivered.

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
  /** Every trusted authority; the active one comes first. */
  readonly pem: string;
  readonly active: Fingerprint;
  /** The fingerprint of the active authority, in OpenSSL's format. */
  readonly shown: string;
}

export interface SignedForNode {
  readonly authority: Fingerprint;
  readonly certificate: SignedCertificate;
  /** The certificate, followed by the cross certificate to the previous authority, if there is one. */
  readonly chainPem: string;
}

export interface ServerCredentials {
  readonly chainPem: string;
  readonly keyPem: string;
  readonly trustPem: string;
}

export interface Authority {
  trust(): Promise<Trust>;
  /** Not recorded yet: the write `redeem-token` or `renew-certificate` records it. */
  signForNode(identity: NodeIdentity, requestPem: string): Promise<Parsed<SignedForNode>>;
  /** `secrets/<node>-cert.pem`, `secrets/<node>-key.pem`, `secrets/ca-cert.pem`. The private key is not stored. */
  serviceFiles(identity: NodeIdentity, origin: Origin): Promise<RenderedFile[]>;
  /** For the node API: the last key and certificate, also across restarts, while they are still suitable; else new ones. */
  serverCredentials(names: readonly GeneralName[], origin: Origin): Promise<ServerCredentials>;
  /** Certificates in use and authorities that expire within this time. */
  expiring(within: Instant): Promise<{ certificates: CertificateRecord[]; authorities: AuthorityRecord[] }>;
}

export async function openAuthority(deps: AuthorityDeps): Promise<Authority> {
  const { store, now, settings } = deps;
  await ensureFirst(deps);
  // An unreadable key fails the start, not the first enrollment.
  await activeIssuer(deps);

  const signForNode: Authority['signForNode'] = async (identity, requestPem) => {
    const request = acceptRequest(requestPem, identity);
    if (!request.ok) return request;
    const issuer = await activeIssuer(deps);
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
    serviceFiles: (identity, origin) => serviceFiles(deps, identity, origin),
    serverCredentials: (names, origin) => serverCredentials(deps, names, origin),
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

async function serviceFiles(deps: AuthorityDeps, identity: NodeIdentity, origin: Origin): Promise<RenderedFile[]> {
  const { store, now, settings } = deps;
  const issuer = await activeIssuer(deps);
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
  await store.recordCertificate(record, certificateAudit(record, `node:${identity.hostname}`, now(), origin));
  const { pem: trustPem } = trustIn(await store.authorities());
  return [
    secretsFile(`${identity.hostname}-cert.pem`, chainOf(issuer, certificate), 0o644),
    { ...secretsFile(`${identity.hostname}-key.pem`, keyPem(key), 0o600), secret: true },
    secretsFile('ca-cert.pem', trustPem, 0o644),
  ];
}

async function serverCredentials(
  deps: AuthorityDeps,
  names: readonly GeneralName[],
  origin: Origin,
): Promise<ServerCredentials> {
  const { store, now, settings } = deps;
  const issuer = await activeIssuer(deps);
  const { pem: trustPem } = trustIn(await store.authorities());
  const last = await lastServerCertificate(deps, names, issuer);
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
  await store.recordCertificate(record, certificateAudit(record, 'appliance:node-api', now(), origin));
  await deps.keys.save(SERVER_KEY, key, certificate.pem);
  return { chainPem: chainOf(issuer, certificate), keyPem: keyPem(key), trustPem };
}

const SERVER_KEY = 'node-api';
/** The server certificate is replaced when this share of its lifetime is left, so that a failure can be noticed in time. */
const SHARE_LEFT = 1 / 3;

async function lastServerCertificate(
  { store, keys, now, settings }: AuthorityDeps,
  names: readonly GeneralName[],
  issuer: Issuer,
): Promise<Pick<ServerCredentials, 'chainPem' | 'keyPem'> | null> {
  const saved = await keys.load(SERVER_KEY);
  if (!saved) return null;
  const record = await store.certificate(fingerprintOf(saved.certificate.raw));
  if (record?.authority !== issuer.record.id || record.revokedAt !== null) return null;
  const named = names.map((name) => (name.kind === 'ip' ? `IP Address:${name.address}` : generalNameText(name)));
  const fits =
    now() <= record.notAfter - settings.serverLifetime * SHARE_LEFT &&
    saved.certificate.subjectAltName === named.join(', ');
  return fits ? { chainPem: chainOf(issuer, { pem: saved.certificate.toString() }), keyPem: keyPem(saved.key) } : null;
}

/** Key first, record second: a crash in between leaves only an unused key file. */
async function ensureFirst(deps: AuthorityDeps): Promise<void> {
  const { store, now } = deps;
  if ((await store.authorities()).length > 0) return;
  const { record } = await makeAuthority(deps, 'active');
  await store.createFirstAuthority(
    record,
    authorityAudit('authority.created', record.id, now(), { actor: 'appliance', correlationId: null }),
  );
}

/** Writes a new key to disk and returns its self-signed certificate, which is not trusted yet. */
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

/** Reads the store each time: another process may have rotated. */
export async function activeIssuer({ store, keys }: Pick<AuthorityDeps, 'store' | 'keys'>): Promise<Issuer> {
  const record = activeIn(await store.authorities());
  const key = await keys.read(record.id);
  if (!new X509Certificate(record.certificate).checkPrivateKey(key)) {
    throw new ColdironError(
      'authority_unavailable',
      `the key file of authority ${record.id} does not match its certificate`,
    );
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

/** With the cross certificate, a peer that trusts only the previous authority can verify the chain. */
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
