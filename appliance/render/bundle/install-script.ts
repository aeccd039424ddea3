// The bundle as one shell script that installs it and the agent. Operators run it; first-boot payloads embed it.

import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { type AgentLayout, type BootstrapBundle, bundleDocument } from './bundle.ts';
import { bundleEnvironment } from './bundle-env.ts';

export function renderInstallScript(bundle: BootstrapBundle, agentText: string, templates: Templates): string {
  const { layout, hostname } = bundle;
  const agentPath = `${layout.installRoot}/node-agent`;
  const unit = templates.render('bundle/node-agent.service', {
    hostname,
    agentPath,
    envFilePath: layout.envFilePath,
    writableFolders: writableFolders(layout),
  });
  return templates.render('bundle/install-node-agent.sh', {
    bundleId: bundle.id,
    hostname,
    agentPath,
    layout,
    agentText,
    agentDigest: bundle.package.pull.mode === 'embedded' ? bundle.package.digest : null,
    unit,
    environment: bundleEnvironment(bundle),
    caPem: bundle.ca.pem,
    nodeCertificateCaPem: bundle.nodeCertificateCa.pem,
  });
}

/** Folders that the agent writes to: certificate and key, CA certificates, the next token. */
const writableFolders = (layout: AgentLayout): string[] => {
  const files = [
    layout.envFilePath,
    layout.certificatePath,
    layout.keyPath,
    layout.caBundlePath,
    layout.nodeCertificateCaBundlePath,
  ];
  return [...new Set(files.map((file) => file.slice(0, file.lastIndexOf('/'))))];
};

/**
 * One command for a shell of root on a node whose agent is installed: it writes the settings and the trusted authorities anew, sets the
 * old certificate and key aside, and restarts the agent, which enrolls again.
 */
function renderRestartCommand(bundle: BootstrapBundle, templates: Templates): string {
  const { layout } = bundle;
  const lines = templates.render('bundle/restart-node-agent.sh', {
    bundleId: bundle.id,
    hostname: bundle.hostname,
    agentPath: `${layout.installRoot}/node-agent`,
    layout,
    environment: bundleEnvironment(bundle),
    caPem: bundle.ca.pem,
    nodeCertificateCaPem: bundle.nodeCertificateCa.pem,
  });
  // As standard input of a shell: the token is not an argument.
  return `sh <<'${END_OF_RECOVERY}'\n${lines}${END_OF_RECOVERY}\n`;
}
const END_OF_RECOVERY = 'END_OF_RECOVERY';

export type BundleFiles = Readonly<Record<'json' | 'environment' | 'script' | 'restart', RenderedFile>>;

/** The forms of a bundle. Each contains the token. */
export const renderBundle = (bundle: BootstrapBundle, agentText: string, templates: Templates): BundleFiles => ({
  json: secretFile('bootstrap-bundle.json', `${JSON.stringify(bundleDocument(bundle), null, 2)}\n`, 0o600),
  environment: secretFile('node-agent.env', bundleEnvironment(bundle), 0o600),
  script: secretFile('install-node-agent.sh', renderInstallScript(bundle, agentText, templates), 0o700),
  restart: secretFile('restart-node-agent.sh', renderRestartCommand(bundle, templates), 0o700),
});

const secretFile = (path: string, text: string, mode: number): RenderedFile => ({ path, text, mode, secret: true });
