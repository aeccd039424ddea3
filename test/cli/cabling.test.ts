import { expect, it } from 'vitest';
import { printCabling } from '../../appliance/cli/cabling.ts';
import type { Answer } from '../../appliance/contract/wire.ts';

type Cable = Answer<'getNodeCabling'>['cables'][number];

const cable = (name: string, verdict: Cable['verdict'], summary: string, port: string | null): Cable => ({
  ...{ interface: name, mac: null, verdict, summary, link: true, port_of: null },
  declared: verdict === 'not-declared' ? null : { name: 'sw3', port: 'Eth1/1' },
  seen:
    port === null
      ? null
      : { chassis: '00:11:22:aa:bb:cc', system: null, port, port_description: null, at: '2030-01-01T00:00:00Z' },
});

const printed = (nodes: Parameters<typeof printCabling>[1]): string => {
  const parts: string[] = [];
  printCabling({ colour: false, write: (part) => void parts.push(part) }, nodes);
  return parts.join('');
};

it('lists each cable with what a technician must know, and counts them', () => {
  const lines = printed([
    {
      node: 'node01',
      cables: [
        cable('eth0', 'as-declared', 'as declared', 'Ethernet1/1'),
        cable('eth1', 'another-port', 'at sw3 \u001b[2JEth1/2, swapped with node02 eth0', '\u001b[2JEth1/2'),
      ],
    },
    { node: 'node02', cables: [cable('eth0', 'not-heard', 'no link: check the cable', null)] },
    { node: 'node03', cables: [cable('eth0', 'not-declared', 'no port is declared', null)] },
  ]).split('\n');
  expect(lines[0]).toMatch(/^NODE +INTERFACE +CABLE +DECLARED +SEEN +DETAILS/);
  expect(lines[1]).toMatch(/^node01 +eth0 +ok +sw3 Eth1\/1 +00:11:22:aa:bb:cc Ethernet1\/1 +as declared/);
  // A switch is on the other end of a cable: its text is not trusted.
  expect(lines[2]).toMatch(/^node01 +eth1 +wrong .*\\u001b\[2JEth1\/2, swapped with node02 eth0/);
  expect(lines[3]).toMatch(/^node02 +eth0 +unknown +sw3 Eth1\/1 +- +no link: check the cable/);
  expect(lines[4]).toMatch(/^node03 +eth0 +undeclared +- +-/);
  expect(lines[5]).toBe('4 cables: 1 ok, 1 wrong, 1 unknown, 1 undeclared');
});

it('says so when there are none', () => {
  expect(printed([])).toBe('0 cables\n');
});
