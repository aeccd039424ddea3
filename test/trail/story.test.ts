import { describe, expect, it } from 'vitest';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { eventLine, storyLines } from '../../appliance/trail/story.ts';

const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
const mac = 'mac:52:54:00:12:34:56';

describe('the text of a trail', () => {
  it('groups events by boot attempt, with one sentence per event', () => {
    const discover = { ...sampleData('dhcp.discover'), relay: null };
    const served = { ...sampleData('http.served'), asset: 'kernel', bytes: 5, of: 10, complete: false };
    const created = { name: 'node01', source: 'rack.yaml', details: [] };
    expect(
      storyLines([
        { at: at(0), kind: 'node.created', actor: 'token:alice', attempt: 'r1', data: created },
        { at: at(1), kind: 'dhcp.discover', actor: mac, attempt: 'aaaaaaaa-1', data: discover },
        { at: at(2), kind: 'dhcp.ack', actor: mac, attempt: 'aaaaaaaa-1', data: sampleData('dhcp.ack') },
        { at: at(3), kind: 'http.served', actor: mac, attempt: 'aaaaaaaa-1', data: served },
        {
          at: at(4),
          kind: 'dhcp.discover',
          actor: mac,
          attempt: 'bbbbbbbb-2',
          data: { ...discover, program: 'ipxe', relay: '10.0.0.1' },
        },
      ]),
    ).toEqual([
      '  2026-01-01 00:00:00.000  node.created        Node node01 was created by token:alice (source rack.yaml)',
      '',
      'Boot attempt aaaaaaaa',
      '  2026-01-01 00:00:01.000  dhcp.discover       Requests an address as PXE firmware (architecture 7)',
      '  2026-01-01 00:00:02.000  dhcp.ack            DHCP acknowledgement: 10.0.100.50, file snponly.efi, lease time 600 s',
      '  2026-01-01 00:00:03.000  http.served         HTTP transfer of kernel was interrupted after 5 of 10 bytes, 1 ms',
      '',
      'Boot attempt bbbbbbbb',
      '  2026-01-01 00:00:04.000  dhcp.discover       Requests an address as iPXE (architecture 7, via relay 10.0.0.1)',
    ]);
  });

  it('prints one clean line per event when its fields are hostile', () => {
    const hostile = '\u001b[2J\r\n\u202eevil\u2028x\u0007';
    const data = { ...sampleData('dhcp.offer'), file: hostile };
    const lines = storyLines([
      { at: `${at(0)}\n`, kind: `dhcp.offer`, actor: `mac:${hostile}`, attempt: hostile, data },
      { at: at(0), kind: `new.${hostile}`, actor: 'appliance', attempt: null, data: {} },
    ]);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
  });

  it('prints a plain sentence for an unknown kind and for data of another version', () => {
    const event = { at: at(0), actor: mac, attempt: null };
    expect(eventLine({ ...event, kind: 'new.thing', data: [1, null] })).toBe(
      'Event of kind new.thing, which this version does not describe',
    );
    for (const data of [null, [], 'x', { address: 7 }]) {
      expect(eventLine({ ...event, kind: 'dhcp.offer', data })).toBe(
        'Event of kind dhcp.offer, written by another version',
      );
    }
    expect(eventLine({ ...event, kind: 'toString', data: {} })).toContain('which this version does not describe');
  });
});
