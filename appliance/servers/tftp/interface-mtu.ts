// The largest packet that one of our addresses can send without fragmentation. PXE ROMs do not reassemble fragments.

import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

/** IPv4, UDP, and TFTP's opcode and block number (RFC 2348 §3). */
const HEADERS_BYTES = 20 + 8 + 4;

/** The TFTP block size that fits into one packet. */
export const blockWithin = (mtu: number): number => mtu - HEADERS_BYTES;

/** The smallest MTU of the interfaces that have the address; null: none has it, or the system does not report it. */
export async function interfaceMtu(address: string): Promise<number | null> {
  const holders = Object.entries(networkInterfaces()).flatMap(([name, held = []]) =>
    held.some((one) => one.address === address) ? [name] : [],
  );
  const sizes = (await Promise.all(holders.map(mtuOf))).filter((size) => size !== null);
  return sizes.length > 0 ? Math.min(...sizes) : null;
}

async function mtuOf(name: string): Promise<number | null> {
  // The suffix of eth0:1 is an address label, not part of the device name.
  const text = await readFile(`/sys/class/net/${name.replace(/:.*/, '')}/mtu`, 'utf8').catch(() => '');
  return /^\d+\s*$/.test(text) ? Number(text) : null;
}
