// All DHCP packets in test/captures: sent by real firmware, loaders, servers and perfdhcp.

import { readdirSync, readFileSync } from 'node:fs';
import { readPcap } from '../../captures/read-pcap.ts';

export const CAPTURES = new URL('../../captures/', import.meta.url);

export interface Capture {
  readonly name: string;
  readonly packets: readonly Uint8Array[];
}

const DHCP_PORTS = [67, 68, 4011];

const isDhcp = (datagram: { sourcePort: number; destinationPort: number }): boolean =>
  DHCP_PORTS.includes(datagram.sourcePort) || DHCP_PORTS.includes(datagram.destinationPort);

function pcapCaptures(): Capture[] {
  const files = readdirSync(CAPTURES).filter((file) => file.endsWith('.pcap'));
  const captures = files.sort().map((name) => ({
    name,
    packets: readPcap(new URL(name, CAPTURES))
      .filter(isDhcp)
      .map((datagram) => datagram.payload),
  }));
  return captures.filter((capture) => capture.packets.length > 0);
}

interface Vectors {
  readonly pxe_clients_to_server: readonly {
    readonly packets: readonly { readonly proto: string; readonly hex: string }[];
  }[];
}

function vectorCapture(): Capture {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', CAPTURES), 'utf8')) as Vectors;
  const packets = vectors.pxe_clients_to_server
    .flatMap((run) => run.packets)
    .filter((packet) => packet.proto === 'dhcp')
    .map((packet) => Uint8Array.from(Buffer.from(packet.hex, 'hex')));
  return { name: 'vectors.json', packets };
}

export const dhcpCaptures = (): Capture[] => [...pcapCaptures(), vectorCapture()];
export const dhcpPackets = (): Uint8Array[] => dhcpCaptures().flatMap((capture) => capture.packets);
