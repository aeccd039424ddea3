// How large a packet may be that leaves from one of our addresses in one piece. PXE ROMs do not put pieces together.

import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

/** IPv4, UDP and the opcode and block number of TFTP (RFC 2348 §3). */
const HEADERS_BYTES = 20 + 8 + 4;

/** What is left of a packet for a block of TFTP. */
export const blockWithin = (mtu: number): number => mtu - HEADERS_BYTES;

/** The smallest of those that have the address; null: none has it, or this system does not tell. */
export async function interfaceMtu(address: string): Promise<number | null> {
  const holders = Object.entries(networkInterfaces()).flatMap(([name, held = []]) =>
    held.some((one) => one.address === address) ? [name] : [],
  );
  const sizes = (await Promise.all(holders.map(mtuOf))).filter((size) => size !== null);
  return sizes.length > 0 ? Math.min(...sizes) : null;
}

async function mtuOf(name: string): Promise<number | null> {
  // What stands behind the colon of eth0:1 only tells an address.
  const text = await readFile(`/sys/class/net/${name.replace(/:.*/, '')}/mtu`, 'utf8').catch(() => '');
  return /^\d+\s*$/.test(text) ? Number(text) : null;
}
