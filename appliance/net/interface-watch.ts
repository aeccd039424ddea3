// Detects changes of the interfaces and their addresses: both come and go, and interfaces are created anew.

import { networkInterfaces } from 'node:os';
import type { Fleet } from '../inventory/fleet.ts';

type Addresses = Readonly<Record<string, readonly { readonly address: string }[] | undefined>>;

export class InterfaceWatch {
  readonly #fleet: Pick<Fleet, 'networks'>;
  readonly #interfaceIndex: (device: string) => number | null;
  readonly #addresses: () => Addresses;
  #seen: string;

  constructor(
    fleet: Pick<Fleet, 'networks'>,
    interfaceIndex: (device: string) => number | null,
    addresses: () => Addresses = networkInterfaces,
  ) {
    this.#fleet = fleet;
    this.#interfaceIndex = interfaceIndex;
    this.#addresses = addresses;
    this.#seen = this.#read();
  }

  /** Reads the state, and returns whether the interfaces named in networks changed since the last read. */
  hasChanged(): boolean {
    const seen = this.#read();
    if (seen === this.#seen) return false;
    this.#seen = seen;
    return true;
  }

  /** Only interfaces that are up and have a link report their addresses. */
  #read(): string {
    const addresses = this.#addresses();
    const named = new Set([...this.#fleet.networks()].flatMap(({ interface: device }) => device ?? []));
    return JSON.stringify(
      [...named].map((device) => [
        device,
        this.#interfaceIndex(device),
        (addresses[device] ?? []).map(({ address }) => address),
      ]),
    );
  }
}
