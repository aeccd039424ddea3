// The bundle as environment variables: a file that a shell sources with `.` and systemd reads with EnvironmentFile=.

import { env } from '../formats/env.ts';
import { type BootstrapBundle, secretText, taskSigningKeysText } from './bundle.ts';

/** In this order, each with the prefix of the layout. */
export const bundleVariables = (bundle: BootstrapBundle): readonly (readonly [name: string, value: string])[] => [
  ['NODE_ID', bundle.nodeId],
  ['API_URL', bundle.apiUrl],
  ['ENROLLMENT_TOKEN', secretText(bundle.enrollmentToken)],
  ['TASK_SIGNING_PUBKEYS', taskSigningKeysText(bundle.taskSigningKeys)],
  ['CA_BUNDLE_PATH', bundle.layout.caBundlePath],
  ['CA_FINGERPRINT', bundle.ca.fingerprint],
  ['NODE_CERT_CA_BUNDLE_PATH', bundle.layout.nodeCertificateCaBundlePath],
  ['CERT_PATH', bundle.layout.certificatePath],
  ['KEY_PATH', bundle.layout.keyPath],
  ['NODE_AGENT_OCI_REF', bundle.package.ociRef],
  ['NODE_AGENT_DIGEST', bundle.package.digest],
  ['NODE_AGENT_PULL_DELIVERY_MODE', bundle.package.pull.mode],
  ['NODE_AGENT_INSTALL_ROOT', bundle.layout.installRoot],
  ['NODE_AGENT_ENV_FILE', bundle.layout.envFilePath],
  ['NODE_AGENT_SYSTEMD_UNIT', bundle.layout.systemdUnitName],
];

/** Throws when a value does not fit on one line; the error names the variable and never shows the value. */
export const bundleEnvironment = (bundle: BootstrapBundle): string =>
  environmentText(bundle.layout.prefix, bundleVariables(bundle));

export function environmentText(prefix: string, variables: readonly (readonly [string, string])[]): string {
  if (!/^[A-Z][A-Z0-9]*_$/.test(prefix))
    throw new Error('the variable prefix must be capital letters and digits with an underscore at the end');
  return variables
    .map(([name, value]) => {
      const literal = env.literal(value);
      if (!literal.ok) throw new Error(`${prefix}${name} ${literal.reason}`);
      return `${prefix}${name}=${literal.value}\n`;
    })
    .join('');
}
