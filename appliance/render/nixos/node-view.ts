// The values of a node's configuration templates, except for its disks.

import type { CpuArchitecture } from '../../domain/architecture.ts';
import { prefixText } from '../../domain/ipv4.ts';
import type { NodePlan } from '../node-plan.ts';
import { linksView } from './links-view.ts';
import { SECRETS_FOLDER, serviceViews } from './services-view.ts';

const PLATFORMS: Partial<Record<CpuArchitecture, string>> = { x86_64: 'x86_64-linux', arm64: 'aarch64-linux' };

export const platformOf = ({ architecture }: NodePlan): string => PLATFORMS[architecture] ?? architecture;

export function nodeView(plan: NodePlan) {
  const { cluster, profile } = plan;
  return {
    ...plan,
    links: linksView(plan),
    platform: platformOf(plan),
    isX86: plan.architecture === 'x86_64',
    isControlPlane: profile.role === 'control-plane',
    isWorker: profile.role === 'worker',
    isAllInOne: profile.role === 'all-in-one',
    services: serviceViews(plan),
    membersFrom: cluster === null ? [] : [prefixText(cluster.prefix)],
    insideFrom: insideOf(plan),
    hosts: hostsOf(plan),
    // An admin can log in with a key, so no account needs a password that is not in the configuration.
    isClosed: plan.accounts.some(({ admin, sshKeys }) => admin && sshKeys.length > 0),
    accounts: plan.accounts.map((account) => ({
      ...account,
      isRoot: account.name === 'root',
      // A member without a password becomes root nowhere; NixOS wants to see somebody who could.
      groups: account.admin ? ['wheel'] : [],
    })),
    sudoRules: plan.accounts.flatMap(({ name, sudo }) =>
      sudo ? [{ name, commands: nixCommands(sudo.commands) }] : [],
    ),
    usesSops: plan.secretsBy === 'sops',
    tls: {
      cert: `${SECRETS_FOLDER}/${plan.hostname}-cert.pem`,
      key: `${SECRETS_FOLDER}/${plan.hostname}-key.pem`,
      ca: `${SECRETS_FOLDER}/ca-cert.pem`,
    },
    sopsKey: `${plan.hostname}/tls-key`,
    sopsQuestion: `${plan.hostname}: its secrets.yaml is not here; put the key of its certificate into it with sops, as ${plan.hostname}/tls-key`,
    clusterConfigFile: `${SECRETS_FOLDER}/cluster-config.json`,
  };
}

/** As NixOS names them: `""` after a program means no arguments. */
const nixCommands = (commands: 'all' | readonly string[]): readonly string[] =>
  commands === 'all' ? ['ALL'] : commands.map((command) => (command.includes(' ') ? command : `${command} ""`));

/** The networks that it has an address on: those whose hosts may use its services. */
const insideOf = ({ links }: NodePlan): string[] => [
  ...new Set(
    links.flatMap(({ address }) => (address === null || address === 'dhcp' ? [] : [prefixText(address.prefix)])),
  ),
];

/** Bootstrap members must find each other without DNS. The list does not grow with later members. */
function hostsOf({ cluster, hostname }: NodePlan) {
  return (cluster?.bootstrap ?? [])
    .filter((member) => member.hostname !== hostname)
    .map(({ address, fqdn, hostname: name }) => ({ address, names: [...new Set<string>([fqdn, name])] }));
}
