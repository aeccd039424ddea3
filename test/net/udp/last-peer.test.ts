import { describe, expect, it } from 'vitest';
import { ipv4FromNumber } from '../../../appliance/domain/ipv4.ts';
import { endpointOf } from '../../../appliance/net/udp/endpoint.ts';
import { LastPeer } from '../../../appliance/net/udp/last-peer.ts';

const relay = { address: ipv4FromNumber(0x0a640065), port: 67 };
const sameHost = { ...relay, port: 68 };
const samePort = { ...relay, address: ipv4FromNumber(0x0a640066) };

describe('the last peer', () => {
  it('is not confused with one that differs only in its port or its address', () => {
    const peers = new LastPeer();
    for (const peer of [relay, relay, sameHost, samePort, relay]) {
      expect(peers.at(endpointOf(peer))).toEqual(peer);
      expect(peers.endpointOf(peer)).toBe(endpointOf(peer));
    }
  });
});
