// The files of a site besides its nodes: names, firewalls, and node lists for other tools.

import { contains, type Prefix } from '../../domain/ipv4.ts';
import type { ObjectName } from '../../domain/names.ts';
import type { Site } from '../../domain/network.ts';
import type { PlanIndex } from '../plan-index.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { renderAnsibleInventory } from './ansible-inventory.ts';
import { renderZones } from './dns-zones.ts';
import { type AppliancePorts, renderFirewalls, widest } from './firewall.ts';
import { renderPrometheusTargets } from './prometheus-targets.ts';
import { siteNames } from './site-names.ts';

/** The documented default ports, for rendering without an appliance and its site file. */
export const USUAL_PORTS: AppliancePorts = { boot: 8080, management: 8443, node: 8444 };

/** Empty for an undeclared site. */
export function renderSite(
  index: PlanIndex,
  name: ObjectName,
  templates: Templates,
  ports: AppliancePorts = USUAL_PORTS,
): RenderedFile[] {
  const site = index.sites.get(name);
  if (!site) return [];
  const inside = insideOf(index, site);
  return [
    ...renderZones(index, site, (address) => inside.some((prefix) => contains(prefix, address)), templates),
    renderHosts(index, site, templates),
    ...renderFirewalls(index, site, inside, ports, templates),
    renderAnsibleInventory(index, site),
    ...renderPrometheusTargets(index, site),
  ];
}

/** The declared inside networks, else all networks of the site. */
function insideOf(index: PlanIndex, { name, inside }: Site): Prefix[] {
  const networks = [...index.networks.values()].filter((network) => network.site === name);
  return widest(inside.length > 0 ? inside : networks.map(({ prefix }) => prefix));
}

/** Names with a single address; a service that runs on many nodes is left to DNS. */
function renderHosts(index: PlanIndex, site: Site, templates: Templates): RenderedFile {
  const hosts = siteNames(index)
    .filter((entry) => entry.site === site.name && entry.reverse)
    .map(({ address, fqdn, hostname }) => ({ address, names: [fqdn, hostname].filter((one) => one !== null) }));
  return { path: 'hosts', text: templates.render('site/hosts.hosts', { hosts }), mode: 0o644, secret: false };
}
