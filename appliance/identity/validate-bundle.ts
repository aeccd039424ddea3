// Validates a bundle before it is issued, so that errors show up here and not on the node. Reports all problems at once, each
// with the name of its field and without secrets.

import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { readPemBlocks } from '../codecs/x509/pem.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import { contains, type Prefix, parseIpv4, parsePrefix } from '../domain/ipv4.ts';
import type { MachineId } from '../domain/machine.ts';
import { mustParse, shown } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import {
  type AgentLayout,
  type AgentPackage,
  type BootstrapBundle,
  secretText,
  type TaskVerifier,
  type TrustedCertificates,
} from '../render/bundle/bundle.ts';
import type { ApiProbe } from './api-probe.ts';
import { fingerprintOf, shownFingerprint } from './fingerprint.ts';
import type { TokenStatus } from './token-text.ts';

export interface BundleChecks {
  readonly now: Instant;
  readonly probe: ApiProbe;
  readonly tokenStatus: (token: Secret, node: MachineId) => Promise<TokenStatus>;
  /** `local`: accepts http to private addresses. For development only: the token is then sent unencrypted. */
  readonly plainHttp: 'never' | 'local';
  /** The agent in the bundle. */
  readonly agentText: string;
}

/** Empty when the bundle is valid. */
export async function validateBundle(bundle: BootstrapBundle, checks: BundleChecks): Promise<readonly string[]> {
  const urlProblems = apiUrlProblems(bundle.apiUrl, checks.plainHttp);
  const caProblems = trustProblems('ca', bundle.ca, checks.now);
  const unreachable = urlProblems.length + caProblems.length === 0 ? await probeProblems(bundle, checks.probe) : [];
  return [
    ...placeholderProblems(bundle),
    ...urlProblems,
    ...caProblems,
    ...unreachable,
    ...trustProblems('node_cert_ca', bundle.nodeCertificateCa, checks.now),
    ...keyProblems(bundle.taskSigningKeys),
    ...(await tokenProblems(bundle, checks)),
    ...layoutProblems(bundle.layout),
    ...packageProblems(bundle.package, checks),
  ];
}

/** Typical placeholders of templates and manual edits. */
const PLACEHOLDER =
  /<[^>]*>|\{\{|\$\{|replace[-_ ]?me|\bREPLACE\b|change[-_ ]?me|placeholder|\bTODO\b|\bFIXME\b|\bxxx+\b|(^|[./@])your[-_]|\.invalid\b/i;

function placeholderProblems(bundle: BootstrapBundle): string[] {
  const { layout } = bundle;
  const texts: Readonly<Record<string, string>> = {
    api_url: bundle.apiUrl,
    hostname: bundle.hostname,
    'ca.fingerprint': bundle.ca.fingerprint,
    'node_cert_ca.fingerprint': bundle.nodeCertificateCa.fingerprint,
    ca_bundle_path: layout.caBundlePath,
    node_cert_ca_bundle_path: layout.nodeCertificateCaBundlePath,
    cert_path: layout.certificatePath,
    key_path: layout.keyPath,
    'package.oci_ref': bundle.package.ociRef,
    'package.digest': bundle.package.digest,
    'package.install_root': layout.installRoot,
    'package.env_file_path': layout.envFilePath,
    'package.systemd_unit_name': layout.systemdUnitName,
  };
  return Object.entries(texts).flatMap(([field, text]) =>
    PLACEHOLDER.test(text) ? [`${field}: contains a placeholder: ${shown(text)}`] : [],
  );
}

function apiUrlProblems(text: string, plainHttp: BundleChecks['plainHttp']): string[] {
  const url = URL.parse(text);
  if (!url) return [`api_url: not a URL: ${shown(text)}`];
  if (url.username !== '' || url.password !== '') return ['api_url: contains a user name or a password'];
  if (url.search !== '' || url.hash !== '') return [`api_url: has a query or a fragment: ${shown(text)}`];
  if (url.protocol === 'https:') return [];
  if (url.protocol !== 'http:') return [`api_url: neither https nor http: ${shown(text)}`];
  if (plainHttp === 'local' && isInside(url.hostname)) return [];
  return [`api_url: must be https, or the token is sent unencrypted: ${shown(text)}`];
}

/** RFC 1122 §3.2.1.3 and RFC 1918 §3. */
const INSIDE: readonly Prefix[] = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].map((text) =>
  mustParse(parsePrefix(text)),
);

function isInside(host: string): boolean {
  const address = parseIpv4(host);
  return host === 'localhost' || (address.ok && INSIDE.some((prefix) => contains(prefix, address.value)));
}

async function probeProblems({ apiUrl, ca }: BootstrapBundle, probe: ApiProbe): Promise<string[]> {
  const answer = await probe(apiUrl, ca.pem);
  return answer.ok ? [] : [`api_url: ${shown(apiUrl)} is not reachable: ${answer.reason}`];
}

function trustProblems(field: string, { pem, fingerprint }: TrustedCertificates, now: Instant): string[] {
  const blocks = readPemBlocks(pem, 'CERTIFICATE');
  if (!blocks.ok) return [`${field}.pem: ${blocks.reason}`];
  const problems = blocks.value.flatMap((der, index) => {
    const problem = authorityProblem(der, now);
    return problem === null ? [] : [`${field}.pem: certificate ${index + 1} ${problem}`];
  });
  const fingerprints = blocks.value.map((der) => shownFingerprint(fingerprintOf(der)));
  if (!fingerprints.includes(fingerprint)) {
    problems.push(`${field}.fingerprint: matches none of its certificates (${fingerprints.join(', ')})`);
  }
  return problems;
}

function authorityProblem(der: Uint8Array, now: Instant): string | null {
  const certificate = readCertificate(der);
  if (certificate === null) return 'cannot be read';
  if (!certificate.ca) return 'is not a CA certificate';
  if (now < certificate.validFromDate.getTime()) return `is not valid before ${certificate.validFrom}`;
  return now < certificate.validToDate.getTime() ? null : `expired on ${certificate.validTo}`;
}

function readCertificate(der: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(der);
  } catch {
    return null;
  }
}

function keyProblems(keys: readonly TaskVerifier[]): string[] {
  const field = 'task_signing_pubkeys';
  const active = keys.filter(({ state }) => state === 'active').length;
  return [
    ...(active === 1 ? [] : [`${field}: ${active} keys are active; exactly one must be`]),
    ...keys.flatMap(({ id, publicKey }) =>
      isEd25519(publicKey) ? [] : [`${field}: ${shown(id)} is not an Ed25519 public key`],
    ),
  ];
}

function isEd25519(base64: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

async function tokenProblems(bundle: BootstrapBundle, { now, tokenStatus }: BundleChecks): Promise<string[]> {
  const status = await tokenStatus(bundle.enrollmentToken, bundle.nodeId);
  if (status !== 'good') return [`enrollment_token: is ${status}`];
  return bundle.tokenExpiresAt > now ? [] : [`enrollment_token: expired on ${instantText(bundle.tokenExpiresAt)}`];
}

function layoutProblems(layout: AgentLayout): string[] {
  const paths: Readonly<Record<string, string>> = {
    ca_bundle_path: layout.caBundlePath,
    node_cert_ca_bundle_path: layout.nodeCertificateCaBundlePath,
    cert_path: layout.certificatePath,
    key_path: layout.keyPath,
    'package.install_root': layout.installRoot,
    'package.env_file_path': layout.envFilePath,
  };
  const seen = new Map<string, string>();
  const problems = Object.entries(paths).flatMap(([field, path]) => {
    if (!/^(\/[A-Za-z0-9_-][\w.-]*)+$/.test(path)) return [`${field}: not an absolute path: ${shown(path)}`];
    const other = seen.get(path);
    seen.set(path, field);
    return other === undefined ? [] : [`${field}: is the same path as ${other}`];
  });
  if (!/^[\w@.-]+\.service$/.test(layout.systemdUnitName)) {
    problems.push(`package.systemd_unit_name: not a systemd service name: ${shown(layout.systemdUnitName)}`);
  }
  if (!/^[A-Z][A-Z0-9]*_$/.test(layout.prefix))
    problems.push(`prefix: must be capital letters and digits, then an underscore: ${shown(layout.prefix)}`);
  return problems;
}

function packageProblems({ ociRef, digest, pull }: AgentPackage, { now, agentText }: BundleChecks): string[] {
  const problems: string[] = [];
  if (!/^[a-z0-9][a-z0-9.:_/-]*$/.test(ociRef))
    problems.push(`package.oci_ref: not an OCI reference: ${shown(ociRef)}`);
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) {
    problems.push(`package.digest: must be sha256: and 64 hexadecimal digits: ${shown(digest)}`);
  } else if (pull.mode === 'embedded' && digest !== agentDigest(agentText)) {
    problems.push('package.digest: does not match the agent in the bundle');
  }
  if (agentText.trim() === '') problems.push('package: the agent is empty');
  if (pull.mode === 'credential') {
    if (pull.expiresAt <= now) problems.push('package.pull_credential: has expired');
    if (pull.username === '' || secretText(pull.password) === '') problems.push('package.pull_credential: is empty');
  }
  return problems;
}

export const agentDigest = (agentText: string): string =>
  `sha256:${createHash('sha256').update(agentText).digest('hex')}`;
