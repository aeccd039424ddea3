// Rules about DHCP: from the first packet to an address.

import { later, PATIENCE, type Rule, seen, stuck, text } from './rule.ts';

export const ADDRESS_RULES: readonly Rule[] = [
  {
    id: 'wrong-network',
    fits: ({ wrongNetwork, session }) =>
      wrongNetwork && !session?.openedAt
        ? seen(
            wrongNetwork.asks,
            `${text(wrongNetwork.asks.data, 'mac')} requested an address on network ${text(wrongNetwork.asks.data, 'network')}`,
          )
        : null,
    reason: ({ hostname, wrongNetwork }) =>
      `${hostname} requests its address on network ${text(wrongNetwork?.asks.data, 'network')}, but is declared on network ${wrongNetwork?.declared}`,
    nextStep: () =>
      'Check the cable and the VLAN of this port, or correct the network of the interface in the inventory.',
  },
  {
    id: 'address-refused',
    fits: ({ nak, decline, ack }) => {
      const last = later(nak, decline) ? nak : decline;
      return last && !later(ack, last)
        ? seen(last, last.kind === 'dhcp.nak' ? 'it was refused an address' : 'it declined its address')
        : null;
    },
    reason: ({ hostname, nak }) =>
      nak
        ? `${hostname} asks for an address of another network: ${text(nak.data, 'because')}`
        : `another machine uses the address of ${hostname}`,
    nextStep: () => 'Look at who holds the address (coldiron leases list), and at the relay of this network.',
  },
  {
    id: 'no-request',
    fits: (signs) =>
      signs.offer && !later(signs.request, signs.offer) && stuck(signs, signs.offer, PATIENCE.request)
        ? seen(signs.offer, `it was offered ${text(signs.offer.data, 'address')}`)
        : null,
    reason: ({ hostname }) => `${hostname} asks for an address, is offered one, and does not take it`,
    nextStep: () =>
      'Look for another DHCP server on this network, and whether our answers reach the machine: relay, VLAN, firewall.',
  },
  {
    id: 'pool-exhausted',
    fits: ({ silent, offer }) =>
      silent?.data.because === 'pool-exhausted' && !later(offer, silent) ? seen(silent, 'it got no answer') : null,
    reason: ({ hostname, silent }) =>
      `${hostname} asks for an address and gets none: the pool of network ${text(silent?.data, 'network')} is exhausted`,
    nextStep: ({ hostname, silent }) =>
      `Look at who holds its addresses (coldiron leases list); give network ${text(silent?.data, 'network')} a larger pool, or ${hostname} an address of its own.`,
  },
  {
    id: 'no-answer-by-policy',
    fits: ({ silent, offer }) => (silent && !later(offer, silent) ? seen(silent, 'it got no answer') : null),
    reason: ({ silent }) => `it asks for an address and gets none: ${text(silent?.data, 'words')}`,
    nextStep: ({ hostname }) => `Read what it would get, and why: coldiron explain ${hostname}`,
  },
];
