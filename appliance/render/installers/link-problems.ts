// Problems of a plan's links as a whole: names that the kernel rejects, duplicates, an unreachable gateway.

import { shown } from '../../domain/parsed.ts';
import type { NodePlan } from '../node-plan.ts';
import { byDhcp, gatewayLink } from './settled-links.ts';

/** IFNAMSIZ minus its NUL; without characters that are special to the kernel, in paths or in section files. */
const LINK_NAME = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,14}$/;

export function linkProblems(plan: NodePlan): string[] {
  const named = [
    ...plan.links.map((link, index) => ({
      place: `links[${index}]`,
      name: link.name,
      mac: link.kind === 'ethernet' ? link.mac : null,
    })),
    ...plan.roce.map((link, index) => ({ place: `roce[${index}]`, name: link.name, mac: link.mac })),
  ];
  const twice = (field: 'name' | 'mac'): string[] =>
    named.flatMap((link, index) => {
      const before = named.slice(0, index).find((other) => other[field] !== null && other[field] === link[field]);
      return before ? [`${link.place}.${field} is the same as that of ${before.place}: ${shown(link[field])}`] : [];
    });
  return [
    ...named.flatMap(({ place, name }) =>
      LINK_NAME.test(name) ? [] : [`${place}.name is not a valid network interface name: ${shown(name)}`],
    ),
    ...twice('name'),
    ...twice('mac'),
    ...carrierProblems(plan),
    ...reachProblems(plan),
  ];
}

function carrierProblems(plan: NodePlan): string[] {
  return plan.links.flatMap((link, index) => {
    const place = `links[${index}]`;
    if (link.kind === 'vlan') {
      const known = plan.links.slice(0, index).some(({ name }) => name === link.parent);
      return known ? [] : [`${place}.parent: no link before it is called ${shown(link.parent)}`];
    }
    if (link.kind === 'ethernet') return [];
    if (link.members.length === 0) return [`${place}.members: a bond needs at least one`];
    return link.members.flatMap((member) =>
      plan.links.slice(0, index).some(({ name, kind }) => kind === 'ethernet' && name === member)
        ? []
        : [`${place}.members: no ethernet link before it is called ${shown(member)}`],
    );
  });
}

function reachProblems(plan: NodePlan): string[] {
  if (byDhcp(plan) !== null) return [];
  if (plan.gateway !== null && gatewayLink(plan) === null) {
    return [`gateway: no link has an address in the network of ${plan.gateway}`];
  }
  const isLost = plan.nameservers.length > 0 && plan.links.every((link) => link.address === null);
  return isLost ? ['nameservers: no link has an address, so they cannot be reached'] : [];
}
