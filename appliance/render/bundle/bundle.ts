// The bootstrap bundle: everything that one node needs to enroll, including its one-time enrollment token.

import type { Json } from '../../domain/event.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Secret } from '../../domain/secret.ts';

/** A key that may sign tasks: the active one, the next one, and former ones until they expire. */
export interface TaskVerifier {
  readonly state: 'active' | 'staged' | 'grace';
  readonly id: string;
  /** SubjectPublicKeyInfo in base64: with the two PEM lines around it, OpenSSL can read it. */
  readonly publicKey: string;
}

/** Trusted certificates, and the SHA-256 fingerprint of the signing one: `AB:CD:…`, as OpenSSL shows it. */
export interface TrustedCertificates {
  readonly pem: string;
  readonly fingerprint: string;
}

/** Paths of the agent on the node, and the names of its variables. */
export interface AgentLayout {
  /** Prefix of every variable: `COLDIRON_`. */
  readonly prefix: string;
  readonly caBundlePath: string;
  readonly nodeCertificateCaBundlePath: string;
  readonly certificatePath: string;
  readonly keyPath: string;
  readonly installRoot: string;
  readonly envFilePath: string;
  readonly systemdUnitName: string;
}

/** How the node gets the package: embedded in the installer, pulled without credentials, or with a short-lived credential. */
export type PullDelivery =
  | { readonly mode: 'embedded' | 'anonymous' }
  | {
      readonly mode: 'credential';
      readonly username: string;
      readonly password: Secret;
      readonly expiresAt: Instant;
    };

export interface AgentPackage {
  readonly ociRef: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly pull: PullDelivery;
}

export interface BootstrapBundle {
  /** Public: the part of the token that identifies it. A node that has installed this bundle recognizes it. */
  readonly id: string;
  readonly nodeId: MachineId;
  readonly hostname: string;
  readonly enrollmentToken: Secret;
  readonly tokenExpiresAt: Instant;
  readonly apiUrl: string;
  readonly taskSigningKeys: readonly TaskVerifier[];
  /** The CA of the API server. */
  readonly ca: TrustedCertificates;
  /** The CA of node certificates. */
  readonly nodeCertificateCa: TrustedCertificates;
  readonly layout: AgentLayout;
  readonly package: AgentPackage;
}

/** Paths and names for one prefix: `coldiron`, or `gpuaas` for sites whose runbooks use it. */
export const agentLayout = (family: string): AgentLayout => ({
  prefix: `${family.toUpperCase()}_`,
  caBundlePath: `/etc/${family}/ca-bundle.crt`,
  nodeCertificateCaBundlePath: `/etc/${family}/node-cert-ca-bundle.crt`,
  certificatePath: `/etc/${family}/cert.pem`,
  keyPath: `/etc/${family}/key.pem`,
  installRoot: `/opt/${family}/node-agent`,
  envFilePath: `/etc/${family}/node-agent.env`,
  systemdUnitName: `${family}-node-agent.service`,
});

/** One line: `active:<id>:<base64>,staged:…`. The agent uses the key that a task names. */
export const taskSigningKeysText = (keys: readonly TaskVerifier[]): string =>
  keys.map(({ state, id, publicKey }) => `${state}:${id}:${publicKey}`).join(',');

export const secretText = (secret: Secret): string => new TextDecoder().decode(secret.reveal());

/** The bundle as the API returns it. It contains the token: only for the node's operator, never for a log. */
export const bundleDocument = (bundle: BootstrapBundle): Json => ({
  version: 1,
  bundle_id: bundle.id,
  node_id: bundle.nodeId,
  hostname: bundle.hostname,
  enrollment_token: secretText(bundle.enrollmentToken),
  enrollment_token_expires_at: instantText(bundle.tokenExpiresAt),
  api_url: bundle.apiUrl,
  task_signing_pubkeys: bundle.taskSigningKeys.map(({ state, id, publicKey }) => ({
    state,
    id,
    public_key: publicKey,
  })),
  ca: { pem: bundle.ca.pem, fingerprint: bundle.ca.fingerprint },
  node_cert_ca: { pem: bundle.nodeCertificateCa.pem, fingerprint: bundle.nodeCertificateCa.fingerprint },
  ca_bundle_path: bundle.layout.caBundlePath,
  node_cert_ca_bundle_path: bundle.layout.nodeCertificateCaBundlePath,
  cert_path: bundle.layout.certificatePath,
  key_path: bundle.layout.keyPath,
  package: {
    oci_ref: bundle.package.ociRef,
    digest: bundle.package.digest,
    pull_delivery_mode: bundle.package.pull.mode,
    pull_credential: pullCredential(bundle.package.pull),
    install_root: bundle.layout.installRoot,
    env_file_path: bundle.layout.envFilePath,
    systemd_unit_name: bundle.layout.systemdUnitName,
  },
});

const pullCredential = (pull: PullDelivery): Json =>
  pull.mode === 'credential'
    ? { username: pull.username, password: secretText(pull.password), expires_at: instantText(pull.expiresAt) }
    : null;
