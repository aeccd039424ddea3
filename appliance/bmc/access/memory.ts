// What drivers remember of BMCs by address, at hand without asking the store: which cipher suite a login came to, and which
// certificate was seen first. The store gets every change; a suite that could not be kept costs two packets the next time.

import type { NewAuditEntry } from '../../domain/event.ts';
import { type Ipv4, parseIpv4 } from '../../domain/ipv4.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { BmcStore } from '../../store/bmc-store.ts';

interface Log {
  warn(fields: object, message: string): void;
}

type MemoryStore = Pick<BmcStore, 'bmcPlaces' | 'rememberBmcSuite' | 'pinBmcCertificate' | 'forgetBmcCertificate'>;

export class BmcMemory {
  readonly #store: MemoryStore;
  readonly #log: Log;
  readonly #suites = new Map<string, number>();
  readonly #pins = new Map<string, string>();

  private constructor(store: MemoryStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  static async open(store: MemoryStore, log: Log): Promise<BmcMemory> {
    const memory = new BmcMemory(store, log);
    for (const { address, certificate, suite } of await store.bmcPlaces()) {
      if (certificate !== null) memory.#pins.set(address, certificate);
      if (suite !== null) memory.#suites.set(address, suite);
    }
    return memory;
  }

  suite(address: string): number | null {
    return this.#suites.get(address) ?? null;
  }

  rememberSuite(address: string, suite: number): void {
    if (this.#suites.get(address) === suite) return;
    this.#suites.set(address, suite);
    this.#store.rememberBmcSuite(ours(address), suite).catch((error: unknown) => {
      this.#log.warn({ err: error, bmc: address }, 'the cipher suite of a BMC could not be kept');
    });
  }

  pinned(address: string): string | null {
    return this.#pins.get(address) ?? null;
  }

  /** On disk before it counts: a password is sent to nobody whose certificate was not kept. */
  async remember(address: string, certificate: string): Promise<void> {
    if (!(await this.#store.pinBmcCertificate(ours(address), certificate))) {
      throw new Error(`another certificate of ${address} is pinned already`);
    }
    this.#pins.set(address, certificate);
  }

  /** False when none was pinned. */
  async forget(address: Ipv4, audit: NewAuditEntry): Promise<boolean> {
    const forgotten = await this.#store.forgetBmcCertificate(address, audit);
    this.#pins.delete(address);
    return forgotten;
  }
}

/** Drivers were given the address by us. */
const ours = (address: string): Ipv4 => mustParse(parseIpv4(address));
