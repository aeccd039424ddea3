// The rendering of one node as a folder to install it from.
//
//   NixOS                flake/        a flake of this one node, for `nixos-anywhere --flake DIR/flake#NODE`
//                        extra-files/  files for the node that must not be in the Nix store, for `--extra-files DIR/extra-files`
//                        configuration.nix, hardware.nix, disko.nix, cluster-config.json, secrets: links to these files, by their usual names
//   everything else      the files as its installer reads them

import { nodeFolder } from './nixos/render-nixos.ts';
import { renderFlake } from './nixos/site-flake.ts';
import { type NodeExtras, renderNodeFiles } from './node-files.ts';
import type { NodePlan } from './node-plan.ts';
import type { RenderedFile } from './rendered-file.ts';
import type { Templates } from './templates.ts';

export interface FolderParts {
  readonly templates: Templates;
  /** The NixOS modules that configurations import, by path. */
  readonly modules: ReadonlyMap<string, string>;
  /** The certificates of the node's services, below secrets/. */
  readonly serviceFiles: readonly RenderedFile[];
}

const SECRETS = 'secrets/';
/** Nix copies a flake's whole folder into its store, which is world-readable. */
const OUTSIDE = 'extra-files/etc/nixos/secrets/';

export function renderNodeFolder(plan: NodePlan, extras: NodeExtras, parts: FolderParts): RenderedFile[] {
  const { templates, modules, serviceFiles } = parts;
  const own = renderNodeFiles(plan, extras, templates);
  if (plan.profile.kind !== 'nixos') return own;
  const secrets = `${nodeFolder(plan)}/${SECRETS}`;
  const isOutside = ({ path }: RenderedFile): boolean => path.startsWith(secrets);
  const moved = (file: RenderedFile, from: string, to: string): RenderedFile => ({
    ...file,
    path: to + file.path.slice(from.length),
  });
  const flake = [...renderFlake({ plans: [plan], templates, modules }), ...own.filter((file) => !isOutside(file))];
  return [
    ...flake.map((file) => moved(file, '', 'flake/')),
    ...own.filter(isOutside).map((file) => moved(file, secrets, OUTSIDE)),
    ...serviceFiles.map((file) => moved(file, SECRETS, OUTSIDE)),
  ];
}

/** Where the runbooks expect a node's files: link → path. Empty for everything but NixOS. */
export function folderLinks(files: readonly Pick<RenderedFile, 'path' | 'secret'>[]): Map<string, string> {
  const links = new Map<string, string>();
  for (const { path } of files) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (/^flake\/nodes\/[^/]+\/(configuration|hardware|disko)\.nix$/.test(path)) links.set(name, path);
    if (path.startsWith(OUTSIDE)) links.set('secrets', OUTSIDE.slice(0, -1));
    if (path === `${OUTSIDE}cluster-config.json`) links.set(name, path);
  }
  // A flake at the root would copy everything beside it into the Nix store.
  const isFlake = files.some(({ path }) => path === 'flake/flake.nix') && !files.some(({ secret }) => secret);
  return isFlake ? links.set('flake.nix', 'flake/flake.nix') : links;
}
