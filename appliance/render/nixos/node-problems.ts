// Values of a plan that NixOS, systemd or disko cannot accept. Free text (the comment of a key, a script) needs no rule here:
// as a literal it is safe whatever it contains.

import { CLUSTER_SERVICES } from '../../domain/cluster-services.ts';
import { shown } from '../../domain/parsed.ts';
import { parseSshKeyLine } from '../../domain/ssh-key.ts';
import type { Account } from '../../domain/system.ts';
import { unicodeProblem } from '../formats/plain-text.ts';
import { linkProblems } from '../installers/link-problems.ts';
import type { NodePlan } from '../node-plan.ts';
import { layoutProblem } from './disk-layout.ts';

/** NixOS' own rule for boot.kernelParams, restricted to ASCII. */
const KERNEL_PARAMETER = /^(?:[!#-~]|"[ !#-~]*")+$/;
const ACCOUNT_NAME = /^[a-z_][a-z0-9_-]{0,30}$/;
/** NixOS runs services under these accounts; it rejects an account that is both a person and a service. */
const SERVICE_ACCOUNT = /^(?:dhcpcd|messagebus|nixbld\d+|nobody|nscd|polkituser|sshd|systemd-[a-z-]+)$/;
const PLATFORMS = ['x86_64', 'arm64'];

const WORDS = {
  timeZone: /^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+)*$/,
  locale: /^[A-Za-z][A-Za-z0-9_.@-]*$/,
  keyboard: /^[A-Za-z][A-Za-z0-9_.-]*$/,
  stateVersion: /^\d\d\.(?:05|11)$/,
  ntpServers: /^[A-Za-z0-9][A-Za-z0-9.:-]*$/,
  packages: /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/,
  kernelParameters: KERNEL_PARAMETER,
} as const;

export const nodeProblems = (plan: NodePlan): string[] => [
  ...systemProblems(plan),
  ...wordProblems(plan),
  ...linkProblems(plan),
  ...plan.accounts.flatMap((account, index) => accountProblems(account, `accounts[${index}]`)),
  ...bootstrapProblems(plan),
];

function systemProblems(plan: NodePlan): string[] {
  const { kind, name } = plan.profile;
  const layout =
    plan.storage === null ? 'NixOS partitions the disks and needs a layout (storage:)' : layoutProblem(plan.storage);
  return [
    ...(kind === 'nixos' ? [] : [`profile: ${name} is of kind ${kind}`]),
    ...(PLATFORMS.includes(plan.architecture) ? [] : [`architecture: NixOS does not support ${plan.architecture}`]),
    ...(plan.secureBoot
      ? ["secureBoot: NixOS' own boot loaders are not signed; disable Secure Boot, or use a profile of another kind"]
      : []),
    ...(layout === null ? [] : [`storage: ${layout}`]),
  ];
}

function wordProblems(plan: NodePlan): string[] {
  return (Object.keys(WORDS) as (keyof typeof WORDS)[]).flatMap((field) => {
    const value = plan[field];
    if (typeof value === 'string') return WORDS[field].test(value) ? [] : [`${field} cannot be ${shown(value)}`];
    return value.flatMap((one, index) =>
      WORDS[field].test(one) ? [] : [`${field}[${index}] cannot be ${shown(one)}`],
    );
  });
}

function accountProblems({ name, sshKeys }: Account, place: string): string[] {
  return [
    ...(ACCOUNT_NAME.test(name) ? [] : [`${place}.name is not a valid account name: ${shown(name)}`]),
    ...(isService(name) ? [`${place}.name is the account of a service: ${name}`] : []),
    ...sshKeys.flatMap((key, index) => {
      const read = parseSshKeyLine(key);
      if (read.ok) return read.value.line === key ? [] : [`${place}.sshKeys[${index}]: it has spaces around it`];
      return [`${place}.sshKeys[${index}]: ${read.reason}`];
    }),
  ];
}

const isService = (name: string): boolean =>
  SERVICE_ACCOUNT.test(name) || CLUSTER_SERVICES.some((service) => service.name === name);

/** Its name and version are part of a path on the node. */
function bootstrapProblems({ siteBootstrap }: NodePlan): string[] {
  if (siteBootstrap === null) return [];
  const unicode = unicodeProblem(siteBootstrap.script);
  return [
    ...(['name', 'version'] as const).flatMap((field) =>
      /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(siteBootstrap[field])
        ? []
        : [`siteBootstrap.${field} cannot be ${shown(siteBootstrap[field])}`],
    ),
    ...(siteBootstrap.script.startsWith('#!') ? [] : ['siteBootstrap.script does not start with #!']),
    ...(unicode === null ? [] : [`siteBootstrap.script ${unicode}`]),
  ];
}
