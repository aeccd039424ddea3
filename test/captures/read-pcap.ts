// The UDP datagrams of a classic pcap file with Ethernet frames: all that the captures here consist of.

import { readFileSync } from 'node:fs';

export interface Datagram {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payload: Uint8Array;
}

const LITTLE_ENDIAN_MICROSECONDS = 0xa1b2c3d4;
const LINK_ETHERNET = 1;
const FILE_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
const ETHERNET_HEADER_BYTES = 14;
const ETHERTYPE_IPV4 = 0x0800;
const PROTOCOL_UDP = 17;
const UDP_HEADER_BYTES = 8;

export function readPcap(path: string | URL): Datagram[] {
  const file = readFileSync(path);
  if (file.readUInt32LE(0) !== LITTLE_ENDIAN_MICROSECONDS) throw new Error(`${path}: not a little-endian pcap file`);
  if (file.readUInt32LE(20) !== LINK_ETHERNET) throw new Error(`${path}: link type ${file.readUInt32LE(20)}`);
  const datagrams: Datagram[] = [];
  let at = FILE_HEADER_BYTES;
  while (at < file.length) {
    const captured = file.readUInt32LE(at + 8);
    const original = file.readUInt32LE(at + 12);
    if (captured !== original) throw new Error(`${path}: the frame at byte ${at} was cut when it was captured`);
    const frame = file.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + captured);
    const datagram = udpOf(frame);
    if (datagram) datagrams.push(datagram);
    at += RECORD_HEADER_BYTES + captured;
  }
  return datagrams;
}

function udpOf(frame: Buffer): Datagram | null {
  if (frame.readUInt16BE(12) !== ETHERTYPE_IPV4) return null;
  const packet = frame.subarray(ETHERNET_HEADER_BYTES);
  const headerBytes = ((packet[0] ?? 0) & 0x0f) * 4;
  const fragment = packet.readUInt16BE(6) & 0x3fff;
  if (packet[9] !== PROTOCOL_UDP || fragment !== 0) return null;
  const udp = packet.subarray(headerBytes);
  return {
    sourcePort: udp.readUInt16BE(0),
    destinationPort: udp.readUInt16BE(2),
    payload: Uint8Array.from(udp.subarray(UDP_HEADER_BYTES, udp.readUInt16BE(4))),
  };
}
