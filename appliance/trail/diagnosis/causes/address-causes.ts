// Causes around DHCP: from the first packet to an address. iPXE requests an address of its own, in the stage of its script.

import { type Cause, fact, found, isIn, lastEvent, later, seen, stoppedIn } from '../cause.ts';
import type { Signs } from '../signs.ts';

export const ADDRESS_CAUSES: readonly Cause[] = [
  {
    id: 'wrong-network',
    stages: 'any',
    specificity: 3,
    looksFor: 'a DHCP request of a declared card on another network than the declared one',
    assess: ({ wrongNetwork, session }) =>
      wrongNetwork && !session?.openedAt
        ? found(
            'certain',
            seen(
              wrongNetwork.discover,
              `${wrongNetwork.discover.data.mac ?? 'unknown'} requested an address on network ${wrongNetwork.discover.data.network}`,
            ),
            { network: wrongNetwork.discover.data.network, declared: wrongNetwork.declared },
          )
        : null,
    reason: '{node} requests its address on network {network}, but is declared on network {declared}',
    nextStep: 'Check the cable and the VLAN of this port, or correct the network of the interface in the inventory.',
    verify: 'coldiron trail {node} shows a DHCP request on network {declared}.',
  },
  {
    id: 'other-dhcp-server',
    stages: ['address', 'loader', 'script'],
    specificity: 3,
    looksFor: 'a machine that accepted the offer of another DHCP server, or such a server seen on its network',
    assess: (signs) => {
      const { silent, ack } = signs;
      const took = silent !== null && /^other-server-chosen$|^for-another-server$/.test(silent.data.because);
      const known = otherServers(signs);
      if (took && !later(ack, silent))
        return found(
          'certain',
          [
            ...seen(silent, 'it accepted the offer of another DHCP server'),
            ...known.map(({ words, since }) => fact('network', words, since)),
          ],
          { server: serverText(known) },
        );
      return known.length > 0 && stoppedIn(signs, 'address', 'loader')
        ? found(
            'likely',
            known.map(({ words, since }) => fact('network', words, since)),
            { server: serverText(known) },
          )
        : null;
    },
    reason: '{node} is answered by another DHCP server: {server}',
    nextStep:
      'Find the other server by its MAC address in the tables of the switch, and disconnect it or stop its DHCP service.',
    verify: 'coldiron check no longer lists it, and {node} gets its address from this appliance.',
  },
  {
    id: 'address-refused',
    stages: ['address', 'script'],
    specificity: 3,
    looksFor: 'DHCPNAK without a later acknowledgement',
    assess: ({ nak, decline, ack }) =>
      nak && later(nak, decline) && !later(ack, nak)
        ? found('certain', seen(nak, 'the DHCP server rejected its address (DHCPNAK)', 'appliance'), {
            because: nak.data.because,
          })
        : null,
    reason: '{node} requests an address of another network: {because}',
    nextStep: 'Check the relay of this network, and that only one network is connected to this port.',
  },
  {
    id: 'address-in-use',
    stages: ['address', 'script'],
    specificity: 3,
    looksFor: 'DHCPDECLINE without a later acknowledgement',
    assess: ({ nak, decline, ack }) =>
      decline && !(nak && later(nak, decline)) && !later(ack, decline)
        ? found('certain', seen(decline, 'it declined its address (DHCPDECLINE)'))
        : null,
    reason: 'another machine uses the address of {node}',
    nextStep: 'Find out which machine has the address (coldiron leases list), and give one of them another address.',
  },
  {
    id: 'no-boot-file',
    stages: ['address', 'loader'],
    specificity: 3,
    looksFor: 'a DHCP offer to network boot firmware without a boot file',
    assess: (signs) => {
      const { firmwareDiscover, offer, loader, loaderRuns } = signs;
      if (!firmwareDiscover || !offer || !later(offer, firmwareDiscover) || offer.data.file !== undefined) return null;
      if (later(loader, offer) || later(loaderRuns, offer) || !isIn(signs, 'address', 'loader')) return null;
      return found('certain', seen(offer, 'the DHCP offer contains no boot file', 'appliance'), {
        because: offer.data.no_file ?? offer.data.because,
        architecture: String(firmwareDiscover.data.architecture ?? 'unknown'),
      });
    },
    reason: '{node} is offered an address but no boot file (architecture {architecture}): {because}',
    nextStep:
      'Show the reason at each stage: coldiron explain {node}. If a loader is missing or damaged: coldiron assets build',
    verify: 'coldiron explain {node} names a loader for this architecture.',
  },
  {
    id: 'no-request',
    stages: ['address', 'script'],
    specificity: 2,
    looksFor: 'DHCP offers that the machine does not request',
    assess: (signs) => {
      const { offer, request } = signs;
      if (!offer || later(request, offer) || !stoppedIn(signs, 'address', 'script')) return null;
      const offers = signs.seen.filter(({ kind, at }) => kind === 'dhcp.offer' && at >= signs.since).length;
      return found('likely', [
        ...seen(offer, `it was offered ${offer.data.address ?? 'a boot file'}`, 'appliance'),
        fact('machine', `it repeats its request: ${offers} offers were sent, none was requested`),
      ]);
    },
    reason: '{node} sends DHCP requests that arrive here, but our offers do not reach it, or it takes another one',
    nextStep:
      'Check the way back to the machine: relay address, VLAN, DHCP snooping or a firewall that drops UDP port 68. Look for another DHCP server on this network.',
  },
  {
    id: 'pool-exhausted',
    stages: ['address', 'script'],
    specificity: 3,
    looksFor: 'a DHCP request without a reply because every address is taken',
    assess: ({ silent, offer }) =>
      silent?.data.because === 'pool-exhausted' && !later(offer, silent)
        ? found('certain', seen(silent, 'its DHCP request got no reply', 'appliance'), {
            network: silent.data.network ?? 'unknown',
          })
        : null,
    reason: '{node} requests an address and gets none: the pool of network {network} is exhausted',
    nextStep:
      'Check its leases (coldiron leases list); give network {network} a larger pool, or declare an address for {node}.',
  },
  {
    id: 'no-answer-by-policy',
    stages: ['address', 'script'],
    specificity: 2,
    looksFor: 'a DHCP request without a reply for any other reason',
    assess: ({ silent, offer }) =>
      silent && !later(offer, silent)
        ? found('certain', seen(silent, 'its DHCP request got no reply', 'appliance'), { words: silent.data.words })
        : null,
    reason: '{node} requests an address and gets none: {words}',
    nextStep: 'Show the boot decision and its reason: coldiron explain {node}',
  },
];

type OtherServer = Extract<Signs['appliance'][number], { id: 'other-dhcp-server' }>;
const otherServers = (signs: Signs): readonly OtherServer[] => {
  const network = lastEvent(signs, 'dhcp.discover')?.data.network ?? null;
  return signs.appliance.filter(
    (one): one is OtherServer => one.id === 'other-dhcp-server' && (network === null || one.network === network),
  );
};
const serverText = (servers: readonly OtherServer[]): string =>
  servers.length === 0
    ? 'its address is not known yet'
    : servers.map(({ address, mac }) => (mac === null ? address : `${address} (${mac})`)).join(', ');
