import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { addressOf, endpointFrom, endpointOf, peerAt, portOf } from '../../../appliance/net/udp/endpoint.ts';

const address = fc.ipV4().map((text) => mustParse(parseIpv4(text)));
const port = fc.integer({ min: 0, max: 65_535 });

describe('an endpoint', () => {
  it('converts to an address and a port and back', () => {
    fc.assert(
      fc.property(address, port, (host, at) => {
        expect(peerAt(endpointOf({ address: host, port: at }))).toEqual({ address: host, port: at });
      }),
    );
  });

  it('is unique for every address and port', () => {
    const number = fc.integer({ min: 0, max: 0xffff_ffff });
    fc.assert(
      fc.property(number, port, (host, at) => {
        const endpoint = endpointFrom(host, at);
        expect([addressOf(endpoint), portOf(endpoint)]).toEqual([host, at]);
      }),
    );
  });
});
