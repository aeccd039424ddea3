// The order for the NixOS installer. Like every order it holds no secret: it is stored beside its ticket.

import type { Json } from '../../../domain/event.ts';
import type { NodePlan } from '../../../render/node-plan.ts';

/** The files that a session serves for a NixOS installation. */
export const FLAKE_FILE = 'flake.tar';
/** Files beside the configuration on the node, never in the Nix store. Issued once. */
export const SECRETS_FILE = 'secrets.tar';
/** The first passphrase of encrypted disks. Issued once. */
export const DISK_KEY_FILE = 'disk-key';

/** The step in which the installer accepts the appliance's login and waits. */
export const AWAIT_PUSH = 'await-push';

/** The files that a session issues only once. */
export const ONCE_FILES: readonly string[] = [SECRETS_FILE, DISK_KEY_FILE];

export type InstallManner =
  /** The installer does all of it itself. */
  | { readonly way: 'pull' }
  /** The appliance logs in and drives nixos-anywhere. The key is this deployment's public one, as in authorized_keys. */
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

/** What in a plan prevents any NixOS installation; the renderer adds its own problems. */
export function nixosPlanProblems({ profile, storage }: NodePlan): string[] {
  return [
    ...(profile.kind === 'nixos' ? [] : [`profile ${profile.name} is of kind ${profile.kind}, not nixos`]),
    ...(storage === null ? [`profile ${profile.name} declares no storage, so no disk can be partitioned`] : []),
  ];
}
