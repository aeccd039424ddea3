// Makes the network card that a machine boots from safe to deploy: exactly one AUTO link, on a subnet of its VLAN that MAAS manages and that
// has a free address. A machine without it installs, and then finds no data source.

import type { MaasApi, MaasSubnet } from './maas-api.ts';
import type { MaasInterface, MaasMachine } from './maas-machine.ts';

type PxeApi = Pick<MaasApi, 'subnets' | 'freeAddresses' | 'interface' | 'unlink' | 'linkAuto'>;

/** What is wrong with it; empty: it is linked, and was read again afterwards. */
export async function preparePxeInterface(
  api: PxeApi,
  { systemId, bootInterface }: MaasMachine,
  { strict }: { readonly strict: boolean },
): Promise<string[]> {
  if (bootInterface === null) return ['MAAS does not know which network card it boots from: commission it again'];
  const { id, name, vlan } = bootInterface;
  if (vlan === null) return [`MAAS does not know the VLAN of its card ${name}: no subnet can be linked to it`];
  if (strict && !vlan.hasDhcp) return [`MAAS has no DHCP, and no relay, on the VLAN of its card ${name}`];
  const subnet = await subnetFor(api, bootInterface, vlan.id, strict);
  if (typeof subnet === 'string') return [subnet];
  const now = await api.interface(systemId, id);
  if (isAuto(now, subnet.id)) return [];
  for (const link of now.links) if (link.mode !== 'link_up') await api.unlink(systemId, id, link.id);
  await api.linkAuto(systemId, id, subnet.id);
  const after = await api.interface(systemId, id);
  return isAuto(after, subnet.id)
    ? []
    : [`its card ${name} is not linked to ${subnet.cidr} in mode AUTO, although MAAS was asked to`];
}

const isAuto = ({ links }: MaasInterface, subnet: number): boolean =>
  links.length === 1 && links[0]?.mode === 'auto' && links[0].subnet === subnet;

/** The one that it is linked to already, else the first that has a free address. */
async function subnetFor(
  api: PxeApi,
  { name, links }: MaasInterface,
  vlan: number,
  strict: boolean,
): Promise<MaasSubnet | string> {
  const onVlan = (await api.subnets()).filter((subnet) => subnet.vlan === vlan);
  if (onVlan.length === 0) return `MAAS has no subnet on the VLAN of its card ${name}`;
  const usable = onVlan.filter(({ managed, gateway }) => managed && (gateway !== null || !strict));
  if (usable.length === 0) {
    const names = onVlan.map(({ cidr }) => cidr).join(', ');
    return `no subnet on the VLAN of its card ${name} is managed by MAAS and has a gateway: ${names}`;
  }
  const linked = links.flatMap(({ subnet }) => subnet ?? []);
  const preferred = usable.toSorted(
    (one, other) => Number(linked.includes(other.id)) - Number(linked.includes(one.id)) || one.id - other.id,
  );
  for (const subnet of preferred) if ((await api.freeAddresses(subnet.id)) > 0) return subnet;
  return `no address is free in ${usable.map(({ cidr }) => cidr).join(', ')}`;
}
