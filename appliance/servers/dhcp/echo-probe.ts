// Probes addresses behind a relay, which ARP does not reach: ICMP echo through the interface on which the relay reached us.
// A host that does not answer echo requests is not detected; a client that finds its address in use declines it.

import type { Ipv4 } from '../../domain/ipv4.ts';
import { type EchoSocket, type OpenEcho, TOKEN_BYTES } from '../../net/udp/echo-socket.ts';
import type { AddressHolders, ProbeMethod } from './conflict-probe.ts';

interface EchoProbeDeps {
  readonly device: string;
  readonly openEcho: OpenEcho;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly onFailure: (error: Error) => void;
}

export class EchoProbe implements ProbeMethod {
  readonly isLossy = true;
  readonly #deps: EchoProbeDeps;
  readonly #probed = new Set<Ipv4>();
  readonly #answered = new Map<string, 'unknown'>();
  /** Open only while a probe runs: the socket receives every echo reply to this machine. */
  #socket: EchoSocket | null = null;

  constructor(deps: EchoProbeDeps) {
    this.#deps = deps;
  }

  probe(address: Ipv4): boolean {
    this.#probed.add(address);
    this.#socket ??= this.#open();
    this.#socket?.ask(address);
    return this.#socket !== null;
  }

  async holders(): Promise<AddressHolders> {
    for (const address of this.#socket?.answered() ?? []) {
      if (this.#probed.has(address)) this.#answered.set(address, 'unknown');
    }
    return this.#answered;
  }

  forget(address: Ipv4): void {
    this.#probed.delete(address);
    this.#answered.delete(address);
    if (this.#probed.size > 0) return;
    this.#socket?.close();
    this.#socket = null;
  }

  #open(): EchoSocket | null {
    const { device, openEcho, randomBytes, onFailure } = this.#deps;
    try {
      return openEcho(device, randomBytes(TOKEN_BYTES));
    } catch (error) {
      onFailure(error as Error);
      return null;
    }
  }
}
