// What the NixOS installer is told to do. Like every order it holds no secret: it is kept beside its ticket.

import type { Json } from '../../../domain/event.ts';
import type { NodePlan } from '../../../render/node-plan.ts';

/** Files that a session hands out for a NixOS installation. */
export const FLAKE_FILE = 'flake.tar';
/** What lies beside the configuration on the node and never in the Nix store. Given out once. */
export const SECRETS_FILE = 'secrets.tar';
/** The first passphrase of encrypted disks. Given out once. */
export const DISK_KEY_FILE = 'disk-key';

/** The step in which the installer lets the appliance in and waits. */
export const AWAIT_PUSH = 'await-push';

/** By name: those that a session gives out a single time. */
export const ONCE_FILES: readonly string[] = [SECRETS_FILE, DISK_KEY_FILE];

export type InstallManner =
  /** The installer does it all itself. */
  | { readonly way: 'pull' }
  /** It lets the appliance in, which drives nixos-anywhere. The key is the public half of this deployment's, as in authorized_keys. */
  | { readonly way: 'push'; readonly authorizedKey: string };

export const nixosOrder = (plan: NodePlan, manner: InstallManner): Json => ({
  mode: 'install',
  kind: 'nixos',
  node: plan.hostname,
  profile: plan.profile.name,
  way: manner.way,
  ...(manner.way === 'push'
    ? { authorized_keys: [manner.authorizedKey] }
    : {
        flake: { file: FLAKE_FILE, attribute: plan.hostname },
        secrets: SECRETS_FILE,
        disk_key: plan.storage?.layout === 'luks' ? DISK_KEY_FILE : null,
      }),
});

export const isPushOrder = (order: Json): boolean =>
  typeof order === 'object' && order !== null && 'way' in order && order.way === 'push';

/** What of a plan stands in the way of any NixOS installation; what the renderer finds comes on top. */
export function nixosPlanProblems({ profile, storage }: NodePlan): string[] {
  return [
    ...(profile.kind === 'nixos' ? [] : [`profile ${profile.name} is of kind ${profile.kind}, not nixos`]),
    ...(storage === null ? [`profile ${profile.name} says nothing about storage, so no disk can be divided`] : []),
  ];
}
