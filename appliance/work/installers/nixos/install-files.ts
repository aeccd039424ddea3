// The files of one NixOS installation: the flake with nothing but this node in it, and what is put beside the configuration.

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
  /** The flake. Nix copies it into its store, where everybody on the node can read it. */
  readonly flake: readonly RenderedFile[];
  /** Paths below the root of the new system. */
  readonly extraFiles: readonly RenderedFile[];
}

interface Ingredients {
  readonly plan: NodePlan;
  readonly templates: Templates;
  readonly modules: ReadonlyMap<string, string>;
  readonly inspection: Inspection | null;
  /** Certificates and keys, as the authority makes them: `secrets/<node>-key.pem`. */
  readonly serviceFiles: readonly RenderedFile[];
  /** Anything else that belongs onto the node, by its path below the root. */
  readonly otherFiles: readonly RenderedFile[];
}

/** Throws a ColdironError that lists everything that stands in the way. */
export function nixosFiles(ingredients: Ingredients): NixosFiles {
  const { plan, templates, modules, inspection } = ingredients;
  const inspections = new Map(inspection === null ? [] : [[plan.hostname, inspection] as const]);
  const rendered = renderSiteFlake({ plans: [plan], templates, modules, inspections });
  const beside = `${nodeFolder(plan)}/secrets/`;
  const flake = rendered.filter(({ path }) => !path.startsWith(beside));
  const leak = flake.find(({ secret }) => secret);
  if (leak) throw new ColdironError('internal', `a secret would get into the Nix store: ${shown(leak.path)}`);
  return {
    flake,
    extraFiles: [
      ...rendered.filter(({ path }) => path.startsWith(beside)).map((file) => besideConfiguration(file, beside)),
      ...ingredients.serviceFiles.map((file) => besideConfiguration(file, 'secrets/')),
      ...ingredients.otherFiles,
    ],
  };
}

/** Whatever mode it had: this folder is for root, and for whom the configuration lets in when it is in force. */
const besideConfiguration = (file: RenderedFile, from: string): RenderedFile => ({
  ...file,
  path: `${SECRETS_FOLDER.slice(1)}/${file.path.slice(from.length)}`,
  mode: 0o600,
});

/** What a session hands out under this name; null: there is no such file. */
export function sessionFile(name: string, files: NixosFiles, diskPassphrase: Secret | null): RenderedFile | null {
  const handed = (text: string): RenderedFile => ({ path: name, text, mode: 0o600, secret: ONCE_FILES.includes(name) });
  // All that is packed is text, so the archive of it is text too.
  if (name === FLAKE_FILE) return handed(ustarArchive(files.flake).toString('utf8'));
  if (name === SECRETS_FILE) return handed(ustarArchive(files.extraFiles).toString('utf8'));
  if (name !== DISK_KEY_FILE || diskPassphrase === null) return null;
  return handed(Buffer.from(diskPassphrase.reveal()).toString('utf8'));
}
