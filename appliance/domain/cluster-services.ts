// The services of a cluster and their ports. Firewall rules, rendered files and probes use this table.

export interface ClusterService {
  readonly name: string;
  /** In order: the API, then the ports between members. */
  readonly ports: readonly {
    readonly purpose: 'api' | 'raft' | 'gossip';
    readonly port: number;
    readonly udp: boolean;
  }[];
  /** Which clients may reach its API: only members, or every address in `inside` of the site. */
  readonly api: 'members' | 'inside';
  readonly roles: readonly ('control-plane' | 'worker' | 'all-in-one')[];
}

const tcp = (purpose: 'api' | 'raft' | 'gossip', port: number) => ({ purpose, port, udp: false }) as const;

export const CLUSTER_SERVICES: readonly ClusterService[] = [
  {
    name: 'chainfire',
    ports: [tcp('api', 2379), tcp('raft', 2380), tcp('gossip', 2381)],
    api: 'members',
    roles: ['control-plane', 'all-in-one'],
  },
  {
    name: 'flaredb',
    ports: [tcp('api', 2479), tcp('raft', 2480)],
    api: 'members',
    roles: ['control-plane', 'all-in-one'],
  },
  { name: 'iam', ports: [tcp('api', 8080)], api: 'inside', roles: ['control-plane', 'all-in-one'] },
  { name: 'plasmavmc', ports: [tcp('api', 9090)], api: 'inside', roles: ['worker', 'all-in-one'] },
  { name: 'prismnet', ports: [tcp('api', 9091)], api: 'inside', roles: ['worker', 'all-in-one'] },
  {
    name: 'flashdns',
    ports: [tcp('api', 53), { purpose: 'api', port: 53, udp: true }],
    api: 'inside',
    roles: ['control-plane', 'all-in-one'],
  },
  { name: 'fiberlb', ports: [tcp('api', 9092)], api: 'inside', roles: ['worker', 'all-in-one'] },
  { name: 'k8shost', ports: [tcp('api', 10250)], api: 'inside', roles: ['worker', 'all-in-one'] },
];
