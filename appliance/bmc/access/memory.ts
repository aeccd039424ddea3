// What drivers remember about BMCs by address, cached in memory: the cipher suite of the last login, and the certificate that was
// seen first. Every change is written to the store; a suite that could not be saved costs two packets the next time.

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
    this.#store.rememberBmcSuite(parsedAddress(address), suite).catch((error: unknown) => {
      this.#log.warn({ err: error, bmc: address }, 'cannot save the cipher suite of a BMC');
    });
  }

  pinned(address: string): string | null {
    return this.#pins.get(address) ?? null;
  }

  /** On disk before it counts: no password is sent to a BMC whose certificate was not saved. */
  async remember(address: string, certificate: string): Promise<void> {
    if (!(await this.#store.pinBmcCertificate(parsedAddress(address), certificate))) {
      throw new Error(`another certificate of ${address} is already pinned`);
    }
    this.#pins.set(address, certificate);
  }

  /** False: none was pinned. */
  async forget(address: Ipv4, audit: NewAuditEntry): Promise<boolean> {
    const forgotten = await this.#store.forgetBmcCertificate(address, audit);
    this.#pins.delete(address);
    return forgotten;
  }
}

/** The drivers got the address from us. */
const parsedAddress = (address: string): Ipv4 => mustParse(parseIpv4(address));
