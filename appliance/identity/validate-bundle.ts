// Looks a bundle over before it leaves: everything that would only fail on the node, far away and at night, fails here. All
// problems at once, each with the name of its field; none shows a secret.

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
import type { TokenStanding } from './token-text.ts';

export interface BundleChecks {
  readonly now: Instant;
  readonly probe: ApiProbe;
  readonly tokenStanding: (token: Secret, node: MachineId) => Promise<TokenStanding>;
  /** `local`: http to an address inside the site is let through. For development: the token then crosses the network in the clear. */
  readonly plainHttp: 'never' | 'local';
  /** The agent that goes with it. */
  readonly agentText: string;
}

/** Empty when the bundle may leave. */
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

/** What templates and people leave behind where a value should be. */
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
    PLACEHOLDER.test(text) ? [`${field}: a placeholder was left in it: ${shown(text)}`] : [],
  );
}

function apiUrlProblems(text: string, plainHttp: BundleChecks['plainHttp']): string[] {
  const url = URL.parse(text);
  if (!url) return [`api_url: not a URL: ${shown(text)}`];
  if (url.username !== '' || url.password !== '') return ['api_url: holds a user or a password'];
  if (url.search !== '' || url.hash !== '') return [`api_url: has something behind its path: ${shown(text)}`];
  if (url.protocol === 'https:') return [];
  if (url.protocol !== 'http:') return [`api_url: neither https nor http: ${shown(text)}`];
  if (plainHttp === 'local' && isInside(url.hostname)) return [];
  return [`api_url: must be https, or the token crosses the network in the clear: ${shown(text)}`];
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
  return answer.ok ? [] : [`api_url: nobody answers at ${shown(apiUrl)}: ${answer.reason}`];
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
    problems.push(`${field}.fingerprint: is that of none of its certificates (${fingerprints.join(', ')})`);
  }
  return problems;
}

function authorityProblem(der: Uint8Array, now: Instant): string | null {
  const certificate = readCertificate(der);
  if (certificate === null) return 'cannot be read';
  if (!certificate.ca) return 'is not that of an authority';
  if (now < certificate.validFromDate.getTime()) return `is not good before ${certificate.validFrom}`;
  return now < certificate.validToDate.getTime() ? null : `has expired on ${certificate.validTo}`;
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
    ...(active === 1 ? [] : [`${field}: ${active} keys are active, not one`]),
    ...keys.flatMap(({ id, publicKey }) =>
      isEd25519(publicKey) ? [] : [`${field}: ${shown(id)} is no Ed25519 public key`],
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

async function tokenProblems(bundle: BootstrapBundle, { now, tokenStanding }: BundleChecks): Promise<string[]> {
  const standing = await tokenStanding(bundle.enrollmentToken, bundle.nodeId);
  if (standing !== 'good') return [`enrollment_token: is ${standing}`];
  return bundle.tokenExpiresAt > now ? [] : [`enrollment_token: has expired on ${instantText(bundle.tokenExpiresAt)}`];
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
    return other === undefined ? [] : [`${field}: the same as ${other}`];
  });
  if (!/^[\w@.-]+\.service$/.test(layout.systemdUnitName)) {
    problems.push(`package.systemd_unit_name: not the name of a service: ${shown(layout.systemdUnitName)}`);
  }
  if (!/^[A-Z][A-Z0-9]*_$/.test(layout.prefix))
    problems.push(`prefix: not capitals and an underscore: ${shown(layout.prefix)}`);
  return problems;
}

function packageProblems({ ociRef, digest, pull }: AgentPackage, { now, agentText }: BundleChecks): string[] {
  const problems: string[] = [];
  if (!/^[a-z0-9][a-z0-9.:_/-]*$/.test(ociRef)) problems.push(`package.oci_ref: not a reference: ${shown(ociRef)}`);
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) {
    problems.push(`package.digest: not sha256: and 64 hexadecimal digits: ${shown(digest)}`);
  } else if (pull.mode === 'embedded' && digest !== agentDigest(agentText)) {
    problems.push('package.digest: is not that of the agent in the bundle');
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
