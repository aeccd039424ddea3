// The bootstrap bundle: everything that one node needs in order to enroll, and the one secret it may do it with, once.

import type { Json } from '../../domain/event.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Secret } from '../../domain/secret.ts';

/** A key that tasks may be signed with: the one in use, the next, and the last ones while their time is not over. */
export interface TaskVerifier {
  readonly state: 'active' | 'staged' | 'grace';
  readonly id: string;
  /** SubjectPublicKeyInfo in base64: between the two lines of PEM it is a file that OpenSSL reads. */
  readonly publicKey: string;
}

/** Certificates that are trusted, and the SHA-256 of the one that signs: `AB:CD:…`, as OpenSSL shows it. */
export interface TrustedCertificates {
  readonly pem: string;
  readonly fingerprint: string;
}

/** Where the agent keeps its things on the node, and what its variables are called. */
export interface AgentLayout {
  /** In front of every variable: `COLDIRON_`. */
  readonly prefix: string;
  readonly caBundlePath: string;
  readonly nodeCertificateCaBundlePath: string;
  readonly certificatePath: string;
  readonly keyPath: string;
  readonly installRoot: string;
  readonly envFilePath: string;
  readonly systemdUnitName: string;
}

/** How the node comes by the package: it stands in the installer, anybody may pull it, or with a credential that ends soon. */
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
  /** Public: the part of the token that names it. A node that has installed this bundle knows it again. */
  readonly id: string;
  readonly nodeId: MachineId;
  readonly hostname: string;
  readonly enrollmentToken: Secret;
  readonly tokenExpiresAt: Instant;
  readonly apiUrl: string;
  readonly taskSigningKeys: readonly TaskVerifier[];
  /** Who vouches for the API. */
  readonly ca: TrustedCertificates;
  /** Who vouches for nodes. */
  readonly nodeCertificateCa: TrustedCertificates;
  readonly layout: AgentLayout;
  readonly package: AgentPackage;
}

/** The folders and names of one family: `coldiron`, or `gpuaas` for sites whose runbooks say so. */
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

/** One line: `active:<id>:<base64>,staged:…`. The agent tries the key that a task names. */
export const taskSigningKeysText = (keys: readonly TaskVerifier[]): string =>
  keys.map(({ state, id, publicKey }) => `${state}:${id}:${publicKey}`).join(',');

export const secretText = (secret: Secret): string => new TextDecoder().decode(secret.reveal());

/** The bundle as the API hands it over. It holds the token: it is for the node's operator and for no log. */
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
