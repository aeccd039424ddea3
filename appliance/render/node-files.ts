// All files for the installation of one machine, whatever the kind of its profile. Install orders, previews and
// `coldiron render` all use this.

import type { ProfileKind } from '../domain/catalogue.ts';
import { Secret } from '../domain/secret.ts';
import { renderCloudInit } from './cloud-init/cloud-init.ts';
import { renderAutoinstall } from './installers/autoinstall.ts';
import type { InstallerExtras } from './installers/disks.ts';
import { renderIgnition } from './installers/ignition.ts';
import { renderKickstart } from './installers/kickstart.ts';
import { renderPreseed } from './installers/preseed.ts';
import { type Inspection, renderNixos } from './nixos/render-nixos.ts';
import type { NodePlan } from './node-plan.ts';
import type { RenderedFile } from './rendered-file.ts';
import type { Templates } from './templates.ts';

/** What is only known at the time of an installation, and not from the inventory. */
export interface NodeExtras extends InstallerExtras {
  /** Null: the machine was never inspected. */
  readonly inspection: Inspection | null;
}

type Renderer = (plan: NodePlan, extras: NodeExtras, templates: Templates) => RenderedFile[];

const RENDERERS: Readonly<Record<ProfileKind, Renderer>> = {
  nixos: (plan, { inspection }, templates) => renderNixos(plan, templates, inspection),
  'cloud-image': renderCloudInit,
  autoinstall: renderAutoinstall,
  preseed: renderPreseed,
  kickstart: renderKickstart,
  ignition: renderIgnition,
};

/**
 * Paths are relative: to the flake's folder for NixOS, to the installer's base path for all others. Throws a ColdironError
 * that lists all problems.
 */
export const renderNodeFiles = (plan: NodePlan, extras: NodeExtras, templates: Templates): RenderedFile[] =>
  RENDERERS[plan.profile.kind](plan, extras, templates);

/** A placeholder for the passphrase. Nothing is ever encrypted with it. */
const NO_PASSPHRASE = 'PASSPHRASE-GOES-HERE';

/** A placeholder for the base URL, in a domain that never resolves (RFC 2606). */
const NO_ADDRESS = 'http://coldiron.invalid/';

/** For previews outside an installation: the same inventory always renders to the same bytes. */
export const previewExtras = (plan: NodePlan, inspection: Inspection | null = null): NodeExtras => ({
  instanceId: plan.id,
  nodeParts: [],
  firmware: inspection?.firmware ?? 'efi',
  filesUrl: NO_ADDRESS,
  mirrorUrl: null,
  diskPassphrase: plan.storage?.layout === 'luks' ? new Secret(NO_PASSPHRASE) : null,
  inspection,
});

/** What a preview of this node lacks, as text, and where to get it. */
export function missingFromPreview(plan: NodePlan): string[] {
  const { hostname, profile, storage } = plan;
  const kind = profile.kind;
  return [
    ...(plan.enrollment === 'first-boot' && kind !== 'nixos'
      ? ['the enrollment bundle: it is issued once, when the node is deployed']
      : []),
    ...(storage?.layout === 'luks' && kind !== 'nixos' && kind !== 'ignition'
      ? [`the passphrase of the disks: ${NO_PASSPHRASE} is a placeholder`]
      : []),
    ...(kind === 'nixos' && plan.secretsBy === 'sops' && plan.cluster !== null
      ? [
          `secrets.yaml: encrypt the key of ${hostname} with sops, as ${hostname}/tls-key, and put it beside its configuration`,
        ]
      : []),
  ];
}
