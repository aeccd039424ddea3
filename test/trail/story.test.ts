import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tellEvent, tellStory } from '../../appliance/trail/story.ts';

const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
const mac = 'mac:52:54:00:12:34:56';

describe('the story of a machine', () => {
  it('is told boot by boot, in sentences', () => {
    expect(
      tellStory([
        { at: at(0), kind: 'node.created', actor: 'token:alice', attempt: 'r1', data: { name: 'node01' } },
        {
          at: at(1),
          kind: 'dhcp.discover',
          actor: mac,
          attempt: 'aaaaaaaa-1',
          data: { program: 'firmware-pxe', architecture: 7, relay: null },
        },
        {
          at: at(2),
          kind: 'dhcp.ack',
          actor: mac,
          attempt: 'aaaaaaaa-1',
          data: { address: '10.0.100.50', file: 'ipxe.efi', seconds: 600 },
        },
        {
          at: at(3),
          kind: 'http.served',
          actor: mac,
          attempt: 'aaaaaaaa-1',
          data: { asset: 'kernel', bytes: 5, of: 10, complete: false },
        },
        {
          at: at(4),
          kind: 'dhcp.discover',
          actor: mac,
          attempt: 'bbbbbbbb-2',
          data: { program: 'ipxe', relay: '10.0.0.1' },
        },
      ]),
    ).toEqual([
      '  2026-01-01 00:00:00.000  node.created        by token:alice: {"name":"node01"}',
      '',
      'boot attempt aaaaaaaa',
      '  2026-01-01 00:00:01.000  dhcp.discover       asks for an address as firmware-pxe, architecture 7',
      '  2026-01-01 00:00:02.000  dhcp.ack            gets 10.0.100.50 and ipxe.efi for 600 s',
      '  2026-01-01 00:00:03.000  http.served         has broken off kernel over HTTP (5 of 10 bytes)',
      '',
      'boot attempt bbbbbbbb',
      '  2026-01-01 00:00:04.000  dhcp.discover       asks for an address as ipxe, through relay 10.0.0.1',
    ]);
  });

  it.each([
    ['bmc.recorded', { action: 'power-cycle' }, 'its BMC would be told power-cycle, but its site only records'],
    ['bmc.skipped', { reason: 'no site', to_do: 'press it' }, 'its BMC is left alone: no site; to do: press it'],
    ['bmc.absent', { to_do: 'press it' }, 'has no BMC that we know of; to do: press it'],
    ['bmc.done', { effect: 'power-off' }, 'its BMC did what it was told: power-off'],
    ['bmc.done', { what: 'power', action: 'on' }, 'its BMC did what it was told: power on'],
    [
      'bmc.failed',
      { what: 'bootdev', device: 'network', firmware: 'efi', persistent: true, reason: 'busy' },
      'its BMC did not do what it was told, bootdev network efi persistent: busy',
    ],
    ['bmc.boot-ignored', { words: 'the BMC accepted, the firmware ignored' }, 'the BMC accepted, the firmware ignored'],
    ['bmc.broken-off', { reason: 'gone' }, 'is no longer made to boot from the network: gone'],
  ])('tells %s in a sentence', (kind, data, sentence) => {
    const [line] = tellStory([{ at: at(0), kind, actor: 'appliance', attempt: null, data }]);
    expect(line).toMatch(new RegExp(`  ${sentence}$`));
  });

  it.each([
    [
      'tftp.error',
      { file: 'snponly.efi', reason: 'the client sent ERROR 3 "disk full"' },
      'did not get snponly.efi over',
    ],
    ['tftp.begun', { file: 'boot/x/initrd', size: 5 }, 'fetches boot/x/initrd over TFTP (5 bytes)'],
    ['tftp.malformed', { why: 'no mode' }, 'cannot be read: no mode'],
    [
      'boot.decided',
      { outcome: 'service-os', words: 'node01 is being commissioned' },
      'gets its configuration of GRUB: service-os, because node01 is being commissioned',
    ],
    ['http.probe', { path: '/boot/loader/ipxe.efi' }, 'whether /boot/loader/ipxe.efi is there'],
    ['trail.flood', { of: 'http.script', count: 4880, seconds: 60 }, 'http.script another 4880 times in 60 s'],
    ['trail.gap', { lost: 12, of: 'strangers' }, '12 notes about strangers were not written down'],
  ])('tells %s of a boot in a sentence', (kind, data, words) => {
    expect(tellEvent({ at: at(0), kind, actor: mac, attempt: null, data })).toContain(words);
  });

  it('tells of nodes that enroll and work, and prints nothing of theirs as it came', () => {
    const by = (kind: string, data: Record<string, string | number | null>) =>
      tellEvent({ at: at(0), kind, actor: 'machine:node01', attempt: null, data });
    expect([
      by('rendering.delivered', { files: 3, inventory_revision: 7 }),
      by('enrollment.bundle_handed_over', { handed_to: 'appliance' }),
      by('enrollment.enrolled', { not_after: '2026-12-17T00:00:00.000Z', serial: 'd3d6' }),
      by('task.created', { kind: 'ping' }),
      by('task.begun', { kind: 'ping' }),
      by('task.succeeded', { output: 'pong\u001b[2J' }),
      by('health.silent', { last_heard: 1 }),
    ]).toEqual([
      'was handed 3 rendered files, of revision 7 of the inventory',
      'its bootstrap bundle was handed to appliance',
      'is enrolled, with a certificate until 2026-12-17T00:00:00.000Z',
      'task ping waits for it',
      'has begun task ping',
      'has done its task: pong\\u001b[2J',
      'has fallen silent',
    ]);
  });

  it('has a sentence for everything that the servers note', () => {
    const servers = join(import.meta.dirname, '../../appliance/servers');
    const sources = readdirSync(servers, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const text = sources.map((name) => readFileSync(join(servers, name), 'utf8')).join('\n');
    const literal = [...text.matchAll(/'((?:dhcp|tftp|http|boot)\.[a-z-]+)'/g)].flatMap(([, kind]) => kind ?? []);
    const made = [
      ...['completed', 'probe', 'aborted', 'timeout', 'error'].map((result) => `tftp.${result}`),
      ...['discover', 'request', 'decline', 'release', 'inform', 'offer', 'ack', 'nak'].map((type) => `dhcp.${type}`),
    ];
    expect(literal).toContain('http.entry');
    for (const kind of new Set([...literal, ...made])) {
      expect(tellEvent({ at: at(0), kind, actor: mac, attempt: null, data: {} }), kind).not.toContain('{');
    }
  });

  it('tells a kind that it does not know, and data of any form', () => {
    expect(tellStory([{ at: at(0), kind: 'new.thing', actor: mac, attempt: null, data: [1, null] }])).toEqual([
      'boot attempt unknown',
      '  2026-01-01 00:00:00.000  new.thing           [1,null]',
    ]);
    expect(tellStory([{ at: at(0), kind: 'dhcp.offer', actor: mac, attempt: null, data: null }])[1]).toContain(
      'is offered unknown',
    );
  });
});
