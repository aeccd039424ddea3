// Everything that one machine is handed when it is installed, whatever kind of profile it has. Install orders, previews and
// `coldiron render` all come through here.

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

/** What the inventory does not know, and the moment of an installation does. */
export interface NodeExtras extends InstallerExtras {
  /** Null: nobody has looked into the machine. */
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
 * Paths are relative: below the flake's folder for NixOS, below the place that the installer reads from for all others. Throws
 * a ColdironError that lists everything that stands in the way.
 */
export const renderNodeFiles = (plan: NodePlan, extras: NodeExtras, templates: Templates): RenderedFile[] =>
  RENDERERS[plan.profile.kind](plan, extras, templates);

/** Stands where a passphrase will be. Nothing is ever encrypted with it. */
const NO_PASSPHRASE = 'PASSPHRASE-GOES-HERE';

/** Where the files would be served; a name that leads nowhere (RFC 2606). */
const NO_ADDRESS = 'http://coldiron.invalid/';

/** For looking at a rendering when nothing is being installed: the same inventory always makes the same bytes. */
export const previewExtras = (plan: NodePlan, inspection: Inspection | null = null): NodeExtras => ({
  instanceId: plan.id,
  nodeParts: [],
  firmware: inspection?.firmware ?? 'efi',
  filesUrl: NO_ADDRESS,
  mirrorUrl: null,
  diskPassphrase: plan.storage?.layout === 'luks' ? new Secret(NO_PASSPHRASE) : null,
  inspection,
});

/** What a preview of this node lacks, in words, and where to get it. */
export function missingFromPreview(plan: NodePlan): string[] {
  const { hostname, profile, storage } = plan;
  const kind = profile.kind;
  return [
    ...(plan.enrollment === 'first-boot' && kind !== 'nixos'
      ? ['the enrollment bundle: it is made and handed over once, when the node is deployed']
      : []),
    ...(kind === 'preseed' ? [`addresses: ${NO_ADDRESS} stands where the appliance will serve the files`] : []),
    ...(storage?.layout === 'luks' && kind !== 'nixos' && kind !== 'ignition'
      ? [`the passphrase of the disks: ${NO_PASSPHRASE} stands in its place`]
      : []),
    ...(kind === 'nixos' && plan.secretsBy === 'sops' && plan.cluster !== null
      ? [
          `secrets.yaml: encrypt the key of ${hostname} with sops, as ${hostname}/tls-key, and put it beside its configuration`,
        ]
      : []),
  ];
}
