// Converts the links of a node: interfaces, bonds, VLANs, and assigned RoCE links.

import type { SwitchPort } from '../domain/cabling.ts';
import { type RoceAssignment, roceName } from '../domain/catalogue.ts';
import { type Ipv4, ipv4FromNumber, ipv4ToNumber, isHostAddress, netmask, parseIpv4 } from '../domain/ipv4.ts';
import { parseMac } from '../domain/mac.ts';
import type { MachineInterface } from '../domain/machine.ts';
import { parseHostname, parseObjectName } from '../domain/names.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import type { Draft, NodeDraft, RoceDraft } from './drafts.ts';
import type { Fields } from './fields.ts';
import type { NodeSection } from './schema.ts';
import type { InterfaceSection, RoceSection } from './schema-parts.ts';

export const declareLinks = (node: Fields<NodeSection>): Pick<NodeDraft, 'interfaces' | 'bonds' | 'vlans'> => ({
  interfaces: node.items('interfaces', (nic) => ({
    name: nic.value('name', undefined),
    mac: nic.optional('mac', parseMac),
    network: nic.required('network', parseObjectName),
    address: nic.optional('address', parseIpv4),
    mtu: nic.value('mtu', null),
    ...declareSwitch(nic),
  })),
  bonds: node.items('bonds', (bond) => ({
    name: bond.value('name', undefined),
    mode: bond.value('mode', 'active-backup'),
    members: bond.values('members', []),
    network: bond.optional('network', parseObjectName),
    address: bond.optional('address', parseIpv4),
    mtu: bond.value('mtu', null),
  })),
  vlans: node.items('vlans', (vlan) => ({
    name: vlan.value('name', undefined),
    id: vlan.value('id', undefined),
    parent: vlan.value('parent', undefined),
    network: vlan.optional('network', parseObjectName),
    address: vlan.optional('address', parseIpv4),
    mtu: vlan.value('mtu', null),
  })),
});

/** Absent where it is not declared: so do nodes look that were stored before it could be declared. */
function declareSwitch(nic: Fields<InterfaceSection>): Pick<Draft<MachineInterface>, 'switch'> {
  if (!nic.has('switch')) return {};
  const port = nic.record('switch', (at) => ({ name: at.value('name', undefined), port: at.value('port', undefined) }));
  return { switch: port?.name === undefined || port.port === undefined ? undefined : (port as SwitchPort) };
}

const DEFAULT_ROCE_MTU = 9000;

export function declareRoce(roce: Fields<RoceSection>, site: RoceAssignment['site'] | undefined): RoceDraft {
  const hostname = roce.required('hostname', parseHostname);
  return {
    name: site === undefined || hostname === undefined ? undefined : roceName(site, hostname),
    site,
    hostname,
    links: roce.items('links', (link) => {
      const address = link.required('address', parseAddressWithLength);
      return {
        name: link.value('name', undefined),
        mac: link.optional('mac', parseMac),
        address: address?.address,
        prefixLength: address?.prefixLength,
        mtu: link.value('mtu', DEFAULT_ROCE_MTU),
        priority: link.value('priority', null),
      };
    }),
  };
}

/** 10.50.0.11/24: an address with a prefix length. */
function parseAddressWithLength(text: string): Parsed<{ readonly address: Ipv4; readonly prefixLength: number }> {
  const [address, length = '', ...rest] = text.split('/');
  const found = parseIpv4(address ?? '');
  const prefixLength = Number(length);
  if (!found.ok || rest.length > 0 || !/^\d{1,2}$/.test(length) || prefixLength < 1 || prefixLength > 32) {
    return unparsable(`must be an address with a prefix length, like 10.50.0.11/24: ${shown(text)}`);
  }
  const mask = ipv4ToNumber(netmask({ network: found.value, length: prefixLength }));
  const network = ipv4FromNumber(ipv4ToNumber(found.value) & mask);
  return isHostAddress({ network, length: prefixLength }, found.value)
    ? parsed({ address: found.value, prefixLength })
    : unparsable(`must not be the network address or the broadcast address: ${shown(text)}`);
}
