// The files of one NixOS installation: the flake with only this node in it, and the files beside the configuration.

import { ColdironError } from '../../../domain/errors.ts';
import { shown } from '../../../domain/parsed.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Inspection } from '../../../render/nixos/render-nixos.ts';
import { nodeFolder } from '../../../render/nixos/render-nixos.ts';
import { SECRETS_FOLDER } from '../../../render/nixos/services-view.ts';
import { renderSiteFlake } from '../../../render/nixos/site-flake.ts';
import type { NodePlan } from '../../../render/node-plan.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';
import type { Templates } from '../../../render/templates.ts';
import { DISK_KEY_FILE, FLAKE_FILE, ONCE_FILES, SECRETS_FILE } from './order.ts';
import { ustarArchive } from './ustar.ts';

export interface NixosFiles {
  /** The flake. Nix copies it into its store, which every user on the node can read. */
  readonly flake: readonly RenderedFile[];
  /** Paths below the root of the new system. */
  readonly extraFiles: readonly RenderedFile[];
}

interface Ingredients {
  readonly plan: NodePlan;
  readonly templates: Templates;
  readonly modules: ReadonlyMap<string, string>;
  readonly inspection: Inspection | null;
  /** Certificates and keys from the authority: `secrets/<node>-key.pem`. */
  readonly serviceFiles: readonly RenderedFile[];
  /** Other files of the node, by path below the root. */
  readonly otherFiles: readonly RenderedFile[];
}

/** Throws a ColdironError that lists every problem. */
export function nixosFiles(ingredients: Ingredients): NixosFiles {
  const { plan, templates, modules, inspection } = ingredients;
  const inspections = new Map(inspection === null ? [] : [[plan.hostname, inspection] as const]);
  const rendered = renderSiteFlake({ plans: [plan], templates, modules, inspections });
  const beside = `${nodeFolder(plan)}/secrets/`;
  const flake = rendered.filter(({ path }) => !path.startsWith(beside));
  const leak = flake.find(({ secret }) => secret);
  if (leak) throw new ColdironError('internal', `a secret would enter the Nix store: ${shown(leak.path)}`);
  return {
    flake,
    extraFiles: [
      ...rendered.filter(({ path }) => path.startsWith(beside)).map((file) => besideConfiguration(file, beside)),
      ...ingredients.serviceFiles.map((file) => besideConfiguration(file, 'secrets/')),
      ...ingredients.otherFiles,
    ],
  };
}

/** Whatever its mode was: this folder is for root, and for the users that the active configuration permits. */
const besideConfiguration = (file: RenderedFile, from: string): RenderedFile => ({
  ...file,
  path: `${SECRETS_FOLDER.slice(1)}/${file.path.slice(from.length)}`,
  mode: 0o600,
});

/** The session's file with this name; null: there is no such file. */
export function sessionFile(name: string, files: NixosFiles, diskPassphrase: Secret | null): RenderedFile | null {
  const issued = (text: string): RenderedFile => ({ path: name, text, mode: 0o600, secret: ONCE_FILES.includes(name) });
  // Every packed file is text, so the archive is text too.
  if (name === FLAKE_FILE) return issued(ustarArchive(files.flake).toString('utf8'));
  if (name === SECRETS_FILE) return issued(ustarArchive(files.extraFiles).toString('utf8'));
  if (name !== DISK_KEY_FILE || diskPassphrase === null) return null;
  return issued(Buffer.from(diskPassphrase.reveal()).toString('utf8'));
}
