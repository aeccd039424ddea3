// Interfaces come, go and are made anew, and so do their addresses; the kernel is asked whether they have.

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
    this.#seen = this.#look();
  }

  /** Looks, and tells whether those that networks name are other than at the look before. */
  hasChanged(): boolean {
    const seen = this.#look();
    if (seen === this.#seen) return false;
    this.#seen = seen;
    return true;
  }

  /** Only those that are up and have a link tell their addresses. */
  #look(): string {
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
