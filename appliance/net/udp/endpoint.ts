// A UDP peer as one number: the IPv4 address in the upper bits, the port in the lowest 16. 48 bits are exact in a number, and a
// packet's transfer is looked up without allocating a string.

import { type Ipv4, ipv4FromNumber, ipv4ToNumber } from '../../domain/ipv4.ts';
import type { Branded } from '../../domain/parsed.ts';
import type { UdpPeer } from './udp-socket.ts';

export type Endpoint = Branded<number, 'Endpoint'>;

const PORTS = 2 ** 16;

export const endpointFrom = (address: number, port: number): Endpoint => (address * PORTS + port) as Endpoint;

export const endpointOf = ({ address, port }: UdpPeer): Endpoint => endpointFrom(ipv4ToNumber(address), port);

export const addressOf = (endpoint: Endpoint): number => Math.floor(endpoint / PORTS);

export const portOf = (endpoint: Endpoint): number => endpoint % PORTS;

export const peerAt = (endpoint: Endpoint): { readonly address: Ipv4; readonly port: number } => ({
  address: ipv4FromNumber(addressOf(endpoint)),
  port: portOf(endpoint),
});
