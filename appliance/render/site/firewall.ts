// Firewall rules: for the appliance, and for the nodes of each cluster by role. Everything else is dropped; inside networks can
// always log in.

import { CLUSTER_SERVICES } from '../../domain/cluster-services.ts';
import { overlaps, type Prefix, prefixText } from '../../domain/ipv4.ts';
import type { Site } from '../../domain/network.ts';
import type { NodeRole } from '../node-plan.ts';
import { type ClusterView, clusterView } from '../plan-cluster.ts';
import type { PlanIndex } from '../plan-index.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';

/** The ports of the appliance, besides the fixed ports of DHCP and TFTP. */
export interface AppliancePorts {
  readonly boot: number;
  readonly management: number;
  /** Null: the node API is off. */
  readonly node: number | null;
}

interface Rule {
  readonly purpose: string;
  readonly udp: boolean;
  readonly ports: readonly number[];
  /** Empty: from anywhere. */
  readonly sources: readonly string[];
}

const SSH = 22;
/** RFC 2131 §4.1: a machine without an address. */
const NO_ADDRESS = '0.0.0.0';

export function renderFirewalls(
  index: PlanIndex,
  site: Site,
  inside: readonly Prefix[],
  ports: AppliancePorts,
  templates: Templates,
): RenderedFile[] {
  // Rules without an inside network would lock everyone out.
  if (inside.length === 0) return [];
  const networks = [...index.networks.values()].filter((network) => network.site === site.name);
  const near = widest([...inside, ...networks.map(({ prefix }) => prefix)]);
  const views = [...index.clusters.values()]
    .filter((cluster) => cluster.site === site.name)
    .flatMap((cluster) => clusterView(index, cluster) ?? []);
  return [
    ...pair(
      'firewall/appliance',
      `The appliance of site ${site.name}`,
      applianceRules(site, inside.map(prefixText), near.map(prefixText), ports),
      templates,
    ),
    ...views.flatMap((view) =>
      rolesIn(view).flatMap((role) => {
        const { name } = view.cluster;
        const title = `Nodes of cluster ${name}: ${role}`;
        return pair(`firewall/${name}/${role}`, title, memberRules(view, role, inside), templates);
      }),
    ),
  ];
}

function pair(path: string, title: string, rules: readonly Rule[], templates: Templates): RenderedFile[] {
  return [
    { path: `${path}.nft`, text: templates.render('site/firewall.nft', { title, rules }), mode: 0o755, secret: false },
    {
      path: `${path}.sh`,
      text: templates.render('site/firewall.sh', {
        title,
        rules: rules.map((rule) => ({ ...rule, ports: rule.ports.join(',') })),
      }),
      mode: 0o755,
      secret: false,
    },
  ];
}

/** `near`: networks that machines boot or work on; not all of them may log in. */
function applianceRules(
  site: Site,
  inside: readonly string[],
  near: readonly string[],
  { boot, management, node }: AppliancePorts,
): Rule[] {
  const tcp = (purpose: string, ports: readonly number[], sources: readonly string[]): Rule => ({
    purpose,
    udp: false,
    ports,
    sources,
  });
  const udp = (purpose: string, ports: readonly number[], sources: readonly string[]): Rule => ({
    purpose,
    udp: true,
    ports,
    sources,
  });
  // Behind a proxy, nodes use another port than the one that the appliance listens on.
  const nodePorts = [...new Set([node, site.apiUrl === null ? null : portOf(site.apiUrl)])].filter(
    (port) => port !== null,
  );
  return [
    tcp('SSH', [SSH], inside),
    udp('DHCP and proxyDHCP', [67, 4011], [NO_ADDRESS, ...near]),
    udp('replies of other DHCP servers', [68], []),
    udp('TFTP requests; the appliance opens the transfer itself', [69], near),
    tcp('boot files and scripts', [boot], near),
    tcp('management', [management], inside),
    ...(nodePorts.length === 0 ? [] : [tcp('node API', nodePorts, near)]),
  ];
}

const portOf = (url: string): number => Number(new URL(url).port) || 443;

function memberRules({ network }: ClusterView, role: NodeRole, inside: readonly Prefix[]): Rule[] {
  const members = [prefixText(network.prefix)];
  const allInside = widest([...inside, network.prefix]).map(prefixText);
  const services = CLUSTER_SERVICES.filter(({ roles }) => roles.includes(role));
  const ports = services.flatMap(({ name, api, ports: all }) =>
    all.map((port) => ({ name, ...port, open: port.purpose === 'api' && api === 'inside' })),
  );
  const rule = (purpose: string, udp: boolean, open: boolean): Rule[] => {
    const chosen = ports.filter((port) => port.udp === udp && port.open === open);
    const names = [...new Set(chosen.map(({ name }) => name))].join(', ');
    const sources = open ? allInside : members;
    return chosen.length === 0
      ? []
      : [{ purpose: `${purpose}: ${names}`, udp, ports: chosen.map(({ port }) => port), sources }];
  };
  return [
    { purpose: 'SSH', udp: false, ports: [SSH], sources: inside.map(prefixText) },
    { purpose: 'replies of DHCP servers', udp: true, ports: [68], sources: [] },
    ...rule('members only', false, false),
    ...rule('all inside networks', false, true),
    ...rule('all inside networks', true, true),
  ];
}

const ROLES: readonly NodeRole[] = ['control-plane', 'worker', 'all-in-one'];
const rolesIn = ({ members }: ClusterView): NodeRole[] =>
  ROLES.filter((role) => members.some((member) => member.role === role));

/** Prefixes that are not inside another one: nft rejects sets with overlapping elements. */
export const widest = (prefixes: readonly Prefix[]): Prefix[] =>
  prefixes.filter((prefix, at) => !prefixes.some((other, place) => place !== at && covers(other, prefix, place < at)));

/** Of two equal prefixes, the earlier covers the later. */
const covers = (other: Prefix, prefix: Prefix, isEarlier: boolean): boolean =>
  overlaps(other, prefix) && (other.length < prefix.length || (other.length === prefix.length && isEarlier));
