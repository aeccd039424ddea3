import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { openerOf } from '../../../appliance/work/sessions/openers.ts';
import { intentWith, MAC, machineIn, OTHER_MAC, OTHER_UUID, UUID } from '../../boot/boot-fixtures.ts';

const ADDRESS = mustParse(parseIpv4('10.0.100.50'));
const HERE = { address: ADDRESS, mac: MAC, wouldBeKnown: true };
const SELF = { mac: MAC, uuid: UUID };
const node = machineIn('deploying');
const unbound = machineIn('deploying', { spec: { uuid: null } });

describe('whoever comes with a ticket', () => {
  it.each([
    ['is the machine, at its address', node, SELF, HERE],
    ['spells its UUID and MAC as firmware does', node, { mac: '52-54-00-12-34-56', uuid: UUID.toUpperCase() }, HERE],
    ['is bound to no UUID, and tells none', unbound, { mac: MAC, uuid: null }, HERE],
    ['comes from where another server gives out addresses', node, SELF, { ...HERE, mac: null, wouldBeKnown: false }],
  ])('is let in when it %s', (_, machine, told, seen) => {
    expect(openerOf(machine, told, seen)).toEqual({ ok: true, value: MAC });
  });

  it.each([
    ['has no MAC address', node, { mac: 'no', uuid: UUID }, HERE, 'not a MAC address: no'],
    ['is another card', node, { mac: OTHER_MAC, uuid: UUID }, HERE, `${OTHER_MAC} is no card of node01`],
    [
      'is another chassis',
      node,
      { mac: MAC, uuid: OTHER_UUID },
      HERE,
      `node01 is chassis ${UUID}, and it is ${OTHER_UUID}`,
    ],
    ['tells no chassis', node, { mac: MAC }, HERE, `node01 is chassis ${UUID}, and it says none: not a UUID: `],
    [
      'is another chassis than the one that was armed',
      machineIn('deploying', { spec: { uuid: null }, intent: intentWith() }),
      { mac: MAC, uuid: OTHER_UUID },
      HERE,
      `node01 is chassis ${UUID}, and it is ${OTHER_UUID}`,
    ],
    [
      'has the address of another',
      node,
      SELF,
      { ...HERE, mac: OTHER_MAC },
      `it comes from 10.0.100.50, which was given to ${OTHER_MAC}`,
    ],
    [
      'has an address of its own choice',
      node,
      SELF,
      { ...HERE, mac: null },
      'it comes from 10.0.100.50, which was given to nobody',
    ],
  ])('is refused when it %s', (_, machine, told, seen, reason) => {
    expect(openerOf(machine, told, seen)).toEqual({ ok: false, reason });
  });
});
