// One flake for all NixOS nodes of a site, for `nixos-anywhere --flake .#node01` and `nix build .#node01`.

import { ColdironError } from '../../domain/errors.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { platformOf } from './node-view.ts';
import { type Inspection, nodeFolder, renderNixos } from './render-nixos.ts';

/** Sources of packages and third-party modules. */
interface FlakeInputs {
  readonly nixpkgs: string;
  readonly disko: string;
  readonly sopsNix: string;
}

const FLAKE_INPUTS: FlakeInputs = {
  nixpkgs: 'github:NixOS/nixpkgs/nixos-25.11',
  // A pinned release: nodes that are installed on different days get the same disk layout.
  disko: 'github:nix-community/disko/v1.13.0',
  sopsNix: 'github:Mic92/sops-nix',
};

interface Flake {
  readonly plans: readonly NodePlan[];
  readonly templates: Templates;
  /** The modules that the nodes' configurations import, by path: common/base.nix. */
  readonly modules: ReadonlyMap<string, string>;
  readonly inputs?: FlakeInputs;
}

interface SiteFlake extends Flake {
  /** By host name. */
  readonly inspections?: ReadonlyMap<string, Inspection>;
}

/** The flake, its modules, and every node's folder. Plans with other kinds of profiles are skipped. */
export function renderSiteFlake(site: SiteFlake): RenderedFile[] {
  const plans = nixosPlans(site.plans);
  return [
    ...renderFlake(site),
    ...plans.flatMap((plan) => renderNixos(plan, site.templates, site.inspections?.get(plan.hostname) ?? null)),
  ];
}

/** Without the nodes' folders. */
export function renderFlake({ templates, modules, inputs = FLAKE_INPUTS, plans: all }: Flake): RenderedFile[] {
  const plans = nixosPlans(all);
  refuseTwins(plans);
  const usesSops = plans.some(({ secretsBy }) => secretsBy === 'sops');
  const nodes = plans.map((plan) => ({ name: plan.hostname, file: `/${nodeFolder(plan)}/system.nix` }));
  const platforms = [...new Set(plans.map(platformOf))].sort().map((platform) => ({
    platform,
    nodes: plans.filter((plan) => platformOf(plan) === platform).map(({ hostname }) => hostname),
  }));
  const plain = (path: string, text: string): RenderedFile => ({ path, text, mode: 0o644, secret: false });
  return [
    plain('flake.nix', templates.render('nixos/flake.nix', { nodes, platforms, inputs, usesSops })),
    ...[...modules].map(([path, text]) => plain(path, text)),
  ];
}

const nixosPlans = (plans: readonly NodePlan[]): NodePlan[] =>
  plans.filter(({ profile }) => profile.kind === 'nixos').sort((a, b) => (a.hostname < b.hostname ? -1 : 1));

/** A flake identifies a node by its host name alone. */
function refuseTwins(plans: readonly NodePlan[]): void {
  const twins = plans.filter((plan, at) => plans[at - 1]?.hostname === plan.hostname);
  if (twins.length === 0) return;
  const problems = twins.map(({ hostname, fqdn }) => `${fqdn}: another node has the same host name ${hostname}`);
  throw new ColdironError('invalid_inventory', 'a flake cannot contain two nodes with the same host name', problems);
}
