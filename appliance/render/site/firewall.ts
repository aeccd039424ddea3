// Who may reach what: the appliance, and the nodes of each cluster by role. Everything else is dropped; whoever is inside can
// always log in.

import { CLUSTER_SERVICES } from '../../domain/cluster-services.ts';
import { overlaps, type Prefix, prefixText } from '../../domain/ipv4.ts';
import type { Site } from '../../domain/network.ts';
import type { NodeRole } from '../node-plan.ts';
import { type ClusterView, clusterView } from '../plan-cluster.ts';
import type { PlanIndex } from '../plan-index.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';

/** Where the appliance listens, beside the ports that DHCP and TFTP have by their nature. */
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
/** RFC 2131 §4.1: a machine that has no address yet. */
const NO_ADDRESS = '0.0.0.0';

export function renderFirewalls(
  index: PlanIndex,
  site: Site,
  inside: readonly Prefix[],
  ports: AppliancePorts,
  templates: Templates,
): RenderedFile[] {
  // Rules that let nobody in would lock everybody out.
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

/** `near`: whoever boots here or works here; they are not all allowed to log in. */
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
  // Behind a proxy nodes call another port than the one that the appliance listens on.
  const nodePorts = [...new Set([node, site.apiUrl === null ? null : portOf(site.apiUrl)])].filter(
    (port) => port !== null,
  );
  return [
    tcp('logging in', [SSH], inside),
    udp('DHCP and proxyDHCP', [67, 4011], [NO_ADDRESS, ...near]),
    udp('answers of other DHCP servers', [68], []),
    udp('TFTP; the transfer that follows is a connection of ours', [69], near),
    tcp('boot files and scripts', [boot], near),
    tcp('management', [management], inside),
    ...(nodePorts.length === 0 ? [] : [tcp('node API', nodePorts, near)]),
  ];
}

const portOf = (url: string): number => Number(new URL(url).port) || 443;

function memberRules({ network }: ClusterView, role: NodeRole, inside: readonly Prefix[]): Rule[] {
  const members = [prefixText(network.prefix)];
  const everybody = widest([...inside, network.prefix]).map(prefixText);
  const services = CLUSTER_SERVICES.filter(({ roles }) => roles.includes(role));
  const ports = services.flatMap(({ name, api, ports: all }) =>
    all.map((port) => ({ name, ...port, open: port.purpose === 'api' && api === 'inside' })),
  );
  const rule = (purpose: string, udp: boolean, open: boolean): Rule[] => {
    const chosen = ports.filter((port) => port.udp === udp && port.open === open);
    const names = [...new Set(chosen.map(({ name }) => name))].join(', ');
    const sources = open ? everybody : members;
    return chosen.length === 0
      ? []
      : [{ purpose: `${purpose}: ${names}`, udp, ports: chosen.map(({ port }) => port), sources }];
  };
  return [
    { purpose: 'logging in', udp: false, ports: [SSH], sources: inside.map(prefixText) },
    { purpose: 'answers of DHCP servers', udp: true, ports: [68], sources: [] },
    ...rule('members only', false, false),
    ...rule('everybody inside', false, true),
    ...rule('everybody inside', true, true),
  ];
}

const ROLES: readonly NodeRole[] = ['control-plane', 'worker', 'all-in-one'];
const rolesIn = ({ members }: ClusterView): NodeRole[] =>
  ROLES.filter((role) => members.some((member) => member.role === role));

/** Prefixes that lie in no other: nft takes no set in which two overlap. */
export const widest = (prefixes: readonly Prefix[]): Prefix[] =>
  prefixes.filter((prefix, at) => !prefixes.some((other, place) => place !== at && covers(other, prefix, place < at)));

/** Of two that are the same, the earlier covers the later. */
const covers = (other: Prefix, prefix: Prefix, isEarlier: boolean): boolean =>
  overlaps(other, prefix) && (other.length < prefix.length || (other.length === prefix.length && isEarlier));
