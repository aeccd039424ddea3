// A plan as the NixOS configuration of its node: the layout of the runbook, one folder per node.

import type { Parsed } from '../../domain/parsed.ts';
import type { Storage } from '../../domain/system.ts';
import { refuseProblems } from '../installers/plan-problems.ts';
import type { ClusterPlan, NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { chooseDisks, type InspectedDisk, pathsWithoutInspection } from './choose-disks.ts';
import { type Firmware, layoutView } from './disk-layout.ts';
import { nodeProblems } from './node-problems.ts';
import { nodeView } from './node-view.ts';
import { servicePort } from './services-view.ts';

/** The results of a machine's inspection. */
export interface Inspection {
  readonly firmware: Firmware;
  readonly disks: readonly InspectedDisk[];
}

/** Relative to the flake's folder. */
export const nodeFolder = (plan: NodePlan): string => `nodes/${plan.fqdn}`;

/**
 * Throws with all problems at once. Without an inspection, UEFI is assumed, and a disk that is not selected by its id stays
 * unresolved: evaluating the configuration then fails with a message that says so.
 */
export function renderNixos(
  plan: NodePlan,
  templates: Templates,
  inspection: Inspection | null = null,
): RenderedFile[] {
  const { storage, cluster } = plan;
  const disks = storage === null ? null : diskPaths(storage, inspection);
  const isOpen = inspection === null && storage?.disks.some(({ byId }) => byId === null) === true;
  refuseProblems(plan, 'NixOS', [
    ...nodeProblems(plan),
    ...(disks?.ok === false && !isOpen ? [`storage: ${disks.reason}`] : []),
    ...firmwareProblems(plan, inspection),
  ]);
  if (storage === null || disks === null) return [];
  const view = { ...nodeView(plan), ...diskView(plan, storage, disks, inspection?.firmware ?? 'efi') };
  const names = ['configuration.nix', 'hardware.nix', 'disko.nix', 'system.nix'];
  return [
    ...names.map((name) => ({
      path: `${nodeFolder(plan)}/${name}`,
      text: templates.render(`nixos/${name}`, view),
      mode: 0o644,
      secret: false,
    })),
    ...(cluster === null ? [] : [clusterConfig(plan, cluster, templates)]),
  ];
}

const diskPaths = (storage: Storage, inspection: Inspection | null): Parsed<readonly string[]> =>
  inspection === null ? pathsWithoutInspection(storage) : chooseDisks(storage, inspection.disks);

/** Only PCs can boot GRUB from a boot sector. */
const firmwareProblems = ({ architecture }: NodePlan, inspection: Inspection | null): string[] =>
  inspection?.firmware === 'bios' && architecture !== 'x86_64'
    ? [`firmware: it booted without UEFI, and NixOS has only UEFI boot loaders for ${architecture}`]
    : [];

function diskView(plan: NodePlan, storage: Storage, disks: Parsed<readonly string[]>, firmware: Firmware) {
  const layout = layoutView(storage, firmware);
  return {
    layout,
    devices: disks.ok ? disks.value : null,
    openQuestion: disks.ok
      ? null
      : `${plan.hostname}: ${disks.reason}; inspect the machine, or name the disk by its id`,
    isBios: firmware === 'bios',
    hasSystemdBoot: firmware === 'efi' && layout.espMounts.length === 1,
    mirroredBoots: layout.espMounts.map((path) => ({ path, devices: ['nodev'] })),
    // ZFS: a pool belongs to the machine with this number. The last eight digits of the node's id.
    hostId: plan.id.replaceAll('-', '').slice(-8),
  };
}

/** Contains no secret, but is deployed like one: onto the node, not into the Nix store. */
function clusterConfig(plan: NodePlan, cluster: ClusterPlan, templates: Templates): RenderedFile {
  const peers = (service: string): string[] =>
    cluster.bootstrap.map(({ fqdn }) => `${fqdn}:${servicePort(service, 'raft')}`);
  const text = templates.render('nixos/cluster-config.json', {
    nodeId: plan.hostname,
    role: cluster.self.role,
    isBootstrap: cluster.mode === 'bootstrap',
    clusterName: cluster.name,
    leaderUrl: `https://${cluster.leader.fqdn}:${servicePort('chainfire', 'api')}`,
    raftAddress: `${cluster.self.address}:${servicePort('chainfire', 'raft')}`,
    chainfirePeers: peers('chainfire'),
    flaredbPeers: peers('flaredb'),
  });
  return { path: `${nodeFolder(plan)}/secrets/cluster-config.json`, text, mode: 0o600, secret: false };
}
