import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { openerOf } from '../../../appliance/provisioning/sessions/openers.ts';
import { intentWith, MAC, machineIn, OTHER_MAC, OTHER_UUID, UUID } from '../../boot/boot-fixtures.ts';

const ADDRESS = mustParse(parseIpv4('10.0.100.50'));
const HERE = { address: ADDRESS, mac: MAC, neighbour: null, wouldBeKnown: true };
const SELF = { mac: MAC, uuid: UUID };
const node = machineIn('deploying');
const unbound = machineIn('deploying', { spec: { uuid: null } });

describe('the client with a ticket', () => {
  it.each([
    ['is the machine, at its address', node, SELF, HERE],
    ['spells its UUID and MAC as firmware does', node, { mac: '52-54-00-12-34-56', uuid: UUID.toUpperCase() }, HERE],
    ['has no UUID, and none is declared', unbound, { mac: MAC, uuid: null }, HERE],
    ['answers with its own card on our wire', node, SELF, { ...HERE, neighbour: MAC }],
    ['comes from a network of another DHCP server', node, SELF, { ...HERE, mac: null, wouldBeKnown: false }],
  ])('is accepted when it %s', (_, machine, body, seen) => {
    expect(openerOf(machine, body, seen)).toEqual({ ok: true, value: MAC });
  });

  it.each([
    ['sends no MAC address', node, { mac: 'no', uuid: UUID }, HERE, 'not a MAC address: no'],
    ['is another card', node, { mac: OTHER_MAC, uuid: UUID }, HERE, `${OTHER_MAC} is not a card of node01`],
    [
      'is another chassis',
      node,
      { mac: MAC, uuid: OTHER_UUID },
      HERE,
      `node01 is chassis ${UUID}, but the request says ${OTHER_UUID}`,
    ],
    [
      'sends no chassis UUID',
      node,
      { mac: MAC },
      HERE,
      `node01 is chassis ${UUID}, but the request has no valid UUID: not a UUID: `,
    ],
    [
      'is another chassis than the armed one',
      machineIn('deploying', { spec: { uuid: null }, intent: intentWith() }),
      { mac: MAC, uuid: OTHER_UUID },
      HERE,
      `node01 is chassis ${UUID}, but the request says ${OTHER_UUID}`,
    ],
    [
      'has the address of another client',
      node,
      SELF,
      { ...HERE, mac: OTHER_MAC },
      `it comes from 10.0.100.50, which is leased to ${OTHER_MAC}`,
    ],
    [
      'has an address that was not leased',
      node,
      SELF,
      { ...HERE, mac: null },
      'it comes from 10.0.100.50, which is not leased',
    ],
    [
      'answers with another card on our wire',
      node,
      SELF,
      { ...HERE, neighbour: OTHER_MAC },
      `it comes from 10.0.100.50, where the card ${OTHER_MAC} answers, which is not a card of node01`,
    ],
  ])('is refused when it %s', (_, machine, body, seen, reason) => {
    expect(openerOf(machine, body, seen)).toEqual({ ok: false, reason });
  });
});
