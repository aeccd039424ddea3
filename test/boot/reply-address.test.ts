import { describe, expect, it } from 'vitest';
import { type ReplyKind, replyAddress } from '../../appliance/boot/reply-address.ts';
import { ip } from './leases/lease-fixtures.ts';

const NONE = ip('0.0.0.0');
const SOURCE = { address: ip('10.0.100.7'), port: 1234 };

describe('the destination of a reply', () => {
  it.each<[string, ReplyKind, { ciaddr?: string; giaddr?: string }, string]>([
    ['an offer to a client without an address is broadcast', 'offer', {}, '255.255.255.255:68'],
    ['an acknowledgement to a client without an address is broadcast', 'ack', {}, '255.255.255.255:68'],
    ['a renewal is answered to the address that is renewed', 'ack', { ciaddr: '10.0.100.100' }, '10.0.100.100:68'],
    ['a refused renewal is broadcast', 'nak', { ciaddr: '10.0.100.100' }, '255.255.255.255:68'],
    ['what came through a relay goes back to it', 'offer', { giaddr: '10.0.200.1' }, '10.0.200.1:67'],
    ['so does a refusal', 'nak', { giaddr: '10.0.200.1' }, '10.0.200.1:67'],
    ['so does a renewal that came through it', 'ack', { ciaddr: '10.0.200.9', giaddr: '10.0.200.1' }, '10.0.200.1:67'],
    ['an INFORM is answered at its own address', 'inform', { ciaddr: '10.0.100.9' }, '10.0.100.9:68'],
    ['even through a relay', 'inform', { ciaddr: '10.0.200.9', giaddr: '10.0.200.1' }, '10.0.200.9:68'],
    ['an INFORM without an address is answered at its source', 'inform', {}, '10.0.100.7:1234'],
    ['the boot server replies to the source port', 'boot-server', { ciaddr: '10.0.100.9' }, '10.0.100.7:1234'],
  ])('%s', (_, kind, { ciaddr, giaddr }, expected) => {
    const request = { ciaddr: ciaddr ? ip(ciaddr) : NONE, giaddr: giaddr ? ip(giaddr) : NONE };
    const { address, port } = replyAddress(request, kind, SOURCE);
    expect(`${address}:${port}`).toBe(expected);
  });
});
