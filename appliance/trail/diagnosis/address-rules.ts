// Rules about DHCP: from the first packet to an address.

import { later, type Rule, STAGE_TIMEOUT, seen, stuck, text } from './rule.ts';

export const ADDRESS_RULES: readonly Rule[] = [
  {
    id: 'wrong-network',
    matches: ({ wrongNetwork, session }) =>
      wrongNetwork && !session?.openedAt
        ? seen(
            wrongNetwork.discover,
            `${text(wrongNetwork.discover.data.mac)} requested an address on network ${wrongNetwork.discover.data.network}`,
          )
        : null,
    reason: ({ hostname, wrongNetwork }) =>
      `${hostname} requests its address on network ${text(wrongNetwork?.discover.data.network)}, but is declared on network ${wrongNetwork?.declared}`,
    nextStep: () =>
      'Check the cable and the VLAN of this port, or correct the network of the interface in the inventory.',
  },
  {
    id: 'address-refused',
    matches: ({ nak, decline, ack }) => {
      const last = later(nak, decline) ? nak : decline;
      return last && !later(ack, last)
        ? seen(
            last,
            last.kind === 'dhcp.nak'
              ? 'the DHCP server rejected its address (DHCPNAK)'
              : 'it declined its address (DHCPDECLINE)',
          )
        : null;
    },
    reason: ({ hostname, nak }) =>
      nak
        ? `${hostname} requests an address of another network: ${nak.data.because}`
        : `another machine uses the address of ${hostname}`,
    nextStep: () =>
      'Find out which machine has the address (coldiron leases list), and check the relay of this network.',
  },
  {
    id: 'no-request',
    matches: (signs) =>
      signs.offer && !later(signs.request, signs.offer) && stuck(signs, signs.offer, STAGE_TIMEOUT.request)
        ? seen(signs.offer, `it was offered ${text(signs.offer.data.address)}`)
        : null,
    reason: ({ hostname }) => `${hostname} gets a DHCP offer and does not request it`,
    nextStep: () =>
      'Look for another DHCP server on this network, and check that replies reach the machine: relay, VLAN, firewall.',
  },
  {
    id: 'pool-exhausted',
    matches: ({ silent, offer }) =>
      silent?.data.because === 'pool-exhausted' && !later(offer, silent)
        ? seen(silent, 'its DHCP request got no reply')
        : null,
    reason: ({ hostname, silent }) =>
      `${hostname} requests an address and gets none: the pool of network ${text(silent?.data.network)} is exhausted`,
    nextStep: ({ hostname, silent }) =>
      `Check its leases (coldiron leases list); give network ${text(silent?.data.network)} a larger pool, or declare an address for ${hostname}.`,
  },
  {
    id: 'no-answer-by-policy',
    matches: ({ silent, offer }) =>
      silent && !later(offer, silent) ? seen(silent, 'its DHCP request got no reply') : null,
    reason: ({ silent }) => `it requests an address and gets none: ${text(silent?.data.words)}`,
    nextStep: ({ hostname }) => `Show the boot decision and its reason: coldiron explain ${hostname}`,
  },
];
