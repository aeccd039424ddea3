// The files that install-node-agent.sh installs, for systems that are built as a whole and already have the unit.

import type { RenderedFile } from '../rendered-file.ts';
import type { BootstrapBundle } from './bundle.ts';
import { bundleEnvironment } from './bundle-env.ts';

/** Paths relative to the root of the node. */
export function installedFiles(bundle: BootstrapBundle, agentText: string): RenderedFile[] {
  const { layout } = bundle;
  const file = (path: string, text: string, mode: number, secret = false): RenderedFile => ({
    path: path.slice(1),
    text,
    mode,
    secret,
  });
  return [
    file(`${layout.installRoot}/node-agent`, agentText, 0o755),
    file(`${layout.installRoot}/bundle-id`, `${bundle.id}\n`, 0o600),
    file(layout.envFilePath, bundleEnvironment(bundle), 0o600, true),
    file(layout.caBundlePath, bundle.ca.pem, 0o644),
    file(layout.nodeCertificateCaBundlePath, bundle.nodeCertificateCa.pem, 0o644),
  ];
}
