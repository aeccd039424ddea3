// Who answers behind a relay, where nobody hears our ARP: asked for an echo, through the interface by which the relay reached us.
// A host that answers no echoes is not noticed; a client that finds its address taken declines it.

import type { Ipv4 } from '../../domain/ipv4.ts';
import { type EchoSocket, type OpenEcho, TOKEN_BYTES } from '../../net/udp/echo-socket.ts';
import type { Answering, Witness } from './conflict-probe.ts';

interface EchoWitnessDeps {
  readonly device: string;
  readonly openEcho: OpenEcho;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly onFailure: (error: Error) => void;
}

export class EchoWitness implements Witness {
  readonly mayMiss = true;
  readonly #parts: EchoWitnessDeps;
  readonly #asked = new Set<Ipv4>();
  readonly #answered = new Map<string, 'somebody'>();
  /** Open while something is being asked: it hears every echo that comes back to this machine. */
  #socket: EchoSocket | null = null;

  constructor(parts: EchoWitnessDeps) {
    this.#parts = parts;
  }

  ask(address: Ipv4): boolean {
    this.#asked.add(address);
    this.#socket ??= this.#open();
    this.#socket?.ask(address);
    return this.#socket !== null;
  }

  async answering(): Promise<Answering> {
    for (const address of this.#socket?.answered() ?? []) {
      if (this.#asked.has(address)) this.#answered.set(address, 'somebody');
    }
    return this.#answered;
  }

  forget(address: Ipv4): void {
    this.#asked.delete(address);
    this.#answered.delete(address);
    if (this.#asked.size > 0) return;
    this.#socket?.close();
    this.#socket = null;
  }

  #open(): EchoSocket | null {
    const { device, openEcho, randomBytes, onFailure } = this.#parts;
    try {
      return openEcho(device, randomBytes(TOKEN_BYTES));
    } catch (error) {
      onFailure(error as Error);
      return null;
    }
  }
}
