// The services of a node by its role, as in the runbook: ports from the one table, names and peers from the cluster,
// certificates by their paths on the node.

import { CLUSTER_SERVICES, type ClusterService } from '../../domain/cluster-services.ts';
import type { ClusterPlan, NodePlan } from '../node-plan.ts';

/** On the node, outside the world-readable Nix store. */
export const SECRETS_FOLDER = '/etc/nixos/secrets';

/** The data store of each service; on the cluster's leader if the node itself does not run it. */
const DEPENDS_ON: Readonly<Record<string, 'chainfire' | 'flaredb'>> = {
  flaredb: 'chainfire',
  iam: 'flaredb',
  flashdns: 'flaredb',
  plasmavmc: 'chainfire',
  prismnet: 'chainfire',
  fiberlb: 'chainfire',
  k8shost: 'chainfire',
};

export interface ServiceView {
  readonly name: string;
  /** Its configuration has its own name and the cluster's. */
  readonly isMember: boolean;
  readonly port: number;
  readonly raftPort: number | null;
  readonly gossipPort: number | null;
  readonly endpoint: { readonly name: string; readonly url: string } | null;
}

export function serviceViews({ cluster, profile }: NodePlan): ServiceView[] {
  const { role } = profile;
  if (cluster === null || role === null) return [];
  const own = CLUSTER_SERVICES.filter(({ roles }) => roles.includes(role));
  return own.map((service) => ({
    name: service.name,
    isMember: service.name !== 'iam',
    port: portOf(service, 'api') ?? 0,
    raftPort: portOf(service, 'raft'),
    gossipPort: portOf(service, 'gossip'),
    endpoint: endpointOf(service, own, cluster),
  }));
}

function endpointOf(service: ClusterService, own: readonly ClusterService[], cluster: ClusterPlan) {
  const needed = CLUSTER_SERVICES.find(({ name }) => name === DEPENDS_ON[service.name]);
  if (needed === undefined) return null;
  const host = own.includes(needed) ? 'localhost' : cluster.leader.fqdn;
  return { name: `${needed.name}_endpoint`, url: `https://${host}:${portOf(needed, 'api')}` };
}

const portOf = (service: ClusterService, purpose: 'api' | 'raft' | 'gossip'): number | null =>
  service.ports.find((port) => port.purpose === purpose)?.port ?? null;

export function servicePort(name: string, purpose: 'api' | 'raft' | 'gossip'): number {
  const service = CLUSTER_SERVICES.find((one) => one.name === name);
  const port = service === undefined ? null : portOf(service, purpose);
  if (port === null) throw new Error(`${name} has no ${purpose} port`);
  return port;
}
