import { describe, expect, it } from 'vitest';
import {
  type Cable,
  cableText,
  cableVerdict,
  isSamePort,
  type Neighbour,
  portKey,
} from '../../appliance/domain/cabling.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

const SILENT: Neighbour = { chassis: null, system: null, port: null, portDescription: null };
const verdict = (declared: string, seen: Partial<Neighbour>) => {
  const [name = '', port = ''] = declared.split(' ');
  return cableVerdict({ declared: { name, port }, seen: { ...SILENT, ...seen } });
};

describe('a cable is as declared', () => {
  it.each<[sentence: string, declared: string, seen: Partial<Neighbour>]>([
    ['by the port id', 'sw3 Ethernet1/12', { system: 'sw3', port: 'Ethernet1/12' }],
    ['in any case, with spaces around it', 'SW3 ethernet1/12', { system: ' sw3', port: 'Ethernet1/12 ' }],
    ['with an abbreviated port', 'sw3 Eth1/12', { system: 'sw3', port: 'Ethernet1/12' }],
    ['with an abbreviation of the switch', 'sw3 TenGigabitEthernet1/0/12', { system: 'sw3', port: 'Te1/0/12' }],
    [
      'with a hyphen or a space in the name',
      'sw3 Ten-GigabitEthernet1/0/1',
      { system: 'sw3', port: 'TenGigabitEthernet 1/0/1' },
    ],
    ['when the switch adds its domain', 'sw3 swp12', { system: 'sw3.dc1.example', port: 'swp12' }],
    ['when only the inventory has the domain', 'sw3.dc1.example swp12', { system: 'sw3', port: 'swp12' }],
    [
      'by the description, when the id is an index',
      'sw3 ge-0/0/12',
      { system: 'sw3', port: '518', portDescription: 'ge-0/0/12' },
    ],
    [
      'by the description, when the id is a MAC address',
      'sw3 swp12',
      { system: 'sw3', port: '44:38:39:00:00:12', portDescription: 'swp12' },
    ],
    [
      'by the description, when the id counts lanes',
      'sw3 Eth13/1',
      { system: 'sw3', port: 'Ethernet48', portDescription: 'Eth13/1' },
    ],
    [
      'by the chassis id of a switch without a name',
      '00-11-22-AA-BB-CC 12',
      { chassis: '00:11:22:aa:bb:cc', port: '12' },
    ],
    [
      'with an id and a description that an operator wrote',
      'sw3 Eth1/12',
      { system: 'sw3', port: 'Ethernet1/12', portDescription: 'to node07' },
    ],
  ])('%s', (_sentence, declared, seen) => {
    expect(verdict(declared, seen)).toBe('as-declared');
  });
});

describe('a cable is in another port', () => {
  it.each<[sentence: string, declared: string, seen: Partial<Neighbour>]>([
    ['with another number', 'sw3 Ethernet1/12', { system: 'sw3', port: 'Ethernet1/13' }],
    ['with a number that begins the same', 'sw3 Ethernet1/1', { system: 'sw3', port: 'Ethernet1/12' }],
    ['of another switch', 'sw3 Ethernet1/12', { system: 'sw4', port: 'Ethernet1/12' }],
    ['of a switch whose name begins the same', 'sw3 swp1', { system: 'sw30', port: 'swp1' }],
    ['of a switch in another domain', 'sw3.dc1.example swp1', { system: 'sw3.dc2.example', port: 'swp1' }],
    ['of another kind', 'sw3 ge-0/0/1', { system: 'sw3', port: 'xe-0/0/1' }],
    [
      'although its description names the declared port',
      'sw3 Ethernet1/12',
      { system: 'sw3', port: 'Ethernet1/13', portDescription: 'Ethernet1/12' },
    ],
    ['when one letter abbreviates anything', 'sw3 E1/12', { system: 'sw3', port: 'Ethernet1/12' }],
    ['when a number is no name', 'sw3 12', { system: 'sw3', port: 'Ethernet12' }],
    ['when the frame has no name of a switch', 'sw3 swp1', { chassis: '00:11:22:aa:bb:cc', port: 'swp1' }],
    ['when the frame has no name of a port', 'sw3 swp1', { system: 'sw3' }],
    ['when names are empty', 'sw3 swp1', { system: '', port: '' }],
  ])('%s', (_sentence, declared, seen) => {
    expect(verdict(declared, seen)).toBe('another-port');
  });
});

it('has no verdict without a declaration, or without a frame', () => {
  const declared = { name: 'sw3', port: 'swp1' };
  expect(cableVerdict({ declared, seen: null })).toBe('not-heard');
  expect(cableVerdict({ declared: null, seen: { ...SILENT, system: 'sw3' } })).toBe('not-declared');
});

it('finds two declarations of one port, whose keys are the same', () => {
  const one = { name: 'sw3', port: 'Ethernet1/12' };
  const other = { name: 'SW3.dc1.example', port: 'eth 1/12' };
  expect(isSamePort(one, other)).toBe(true);
  expect(portKey(one)).toBe(portKey(other));
  expect(isSamePort(one, { name: 'sw3', port: 'Ethernet1/13' })).toBe(false);
});

describe('the words for a cable', () => {
  const cable: Cable = {
    ...{ name: 'eth0', mac: mustParse(parseMac('52:54:00:00:00:01')), declared: { name: 'sw3', port: 'Ethernet1/12' } },
    ...{
      seen: { ...SILENT, system: 'sw3', port: 'Ethernet1/13', portDescription: 'to node07' },
      seenAt: 0,
      link: true,
    },
  };
  const owner = { hostname: 'node07', name: 'eth0', isSwapped: true };

  it.each<[string, Cable, typeof owner | null]>([
    ['at sw3 Ethernet1/13 (to node07)', cable, null],
    ['at sw3 Ethernet1/13 (to node07), swapped with node07 eth0', cable, owner],
    ['at sw3 Ethernet1/13 (to node07), the port of node07 eth0', cable, { ...owner, isSwapped: false }],
    ['no LLDP neighbour was heard', { ...cable, seen: null }, null],
    ['no link: check the cable', { ...cable, seen: null, link: false }, null],
    ['unknown: the interface has no MAC address', { ...cable, seen: null, mac: null }, null],
    ['no port is declared', { ...cable, declared: null, seen: null }, null],
    ['as declared', { ...cable, declared: { name: 'sw3', port: 'eth1/13' } }, null],
  ])('%s', (words, about, whose) => {
    expect(cableText(about, whose)).toBe(words);
  });
});
