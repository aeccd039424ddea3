// An attacker on the provisioning network sends DISCOVERs with invented MAC addresses and requests none of the offers.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeDhcp } from '../../appliance/codecs/dhcp4/encode.ts';
import { OPTION } from '../../appliance/codecs/dhcp4/options.ts';
import { mac } from '../boot/leases/lease-fixtures.ts';
import { Lab, NETWORK } from '../interop/dhcp/lab.ts';
import { needPackages } from '../interop/packages.ts';
import { FIRMWARE, packet } from '../servers/dhcp/rig.ts';
import type { Wire } from '../servers/dhcp/wire.ts';

/** `10.88.0.100` to `10.88.0.199`. */
const POOL_SIZE = 100;
/** Three times the rate that kept a pool of a thousand addresses empty. */
const PER_SECOND = 50;
/** A client that has sent this many DISCOVERs counts as locked out. */
const MOST_DISCOVERS = 12;

let lab: Lab;
beforeAll(() => needPackages(['isc-dhcp-client', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'client', 'attacker');
  lab.namespaces.switch(
    'switch',
    { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
    { namespace: 'client', device: 'c1' },
    { namespace: 'attacker', device: 'a1' },
  );
});
afterEach(async () => await lab.remove());

/** DISCOVERs until it is stopped, each from another MAC address. */
class Flood {
  readonly #timer: NodeJS.Timeout;
  sent = 0;

  constructor(wire: Wire, port: Uint8Array | null) {
    this.#timer = setInterval(() => {
      this.sent += 1;
      const options = port === null ? FIRMWARE : [...FIRMWARE, [OPTION.relayAgentInformation, port] as const];
      const discover = packet('discover', mac(1000 + (this.sent % 60_000)), { xid: this.sent, options });
      wire.tell(encodeDhcp(discover, { maxBytes: 1472 }).bytes);
    }, 1000 / PER_SECOND);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The addresses offered to the invented clients: replies to other clients may be broadcast too. */
const offersOn = (wire: Wire): string[] =>
  wire.heard
    .filter(({ packet: { mac: client } }) => client.startsWith('52:54:00:00:'))
    .map(({ packet }) => packet.yiaddr);

/** ISC dhclient until it is bound; null after too many DISCOVERs. */
async function addressOf(device: string): Promise<string | null> {
  const config = join(lab.folder, `${device}.conf`);
  writeFileSync(config, 'initial-interval 1; backoff-cutoff 2; retry 1; timeout 300;\n');
  const files = ['-lf', join(lab.folder, `${device}.leases`), '-pf', join(lab.folder, `${device}.pid`)];
  const options = ['-4', '-d', '-v', '-sf', '/bin/true', '-cf', config, ...files, device];
  const client = lab.namespaces.start('client', 'dhclient', ...options);
  const address = await client.until((output) => {
    const bound = /bound to ([0-9.]+)/.exec(output)?.[1];
    if (bound !== undefined) return { bound };
    return (output.match(/DHCPDISCOVER on/g)?.length ?? 0) > MOST_DISCOVERS ? { bound: null } : null;
  }, 'that it is bound');
  await client.stop();
  return address.bound;
}

describe('an attacker who sends DISCOVERs with invented MAC addresses', () => {
  it('does not keep a new client from getting an address, nor gets it the address of another', async () => {
    await lab.serve([NETWORK], '--no-probe', '--ignore-others');
    const wire = await lab.wire('attacker', 'a1');
    const flood = new Flood(wire, null);
    try {
      await expect.poll(() => new Set(offersOn(wire)).size, { timeout: 90_000 }).toBe(POOL_SIZE);
      const first = await addressOf('c1');
      expect(first).toMatch(/^10\.88\.0\.1\d\d$/);
      // A second client of the same wire, with another card.
      lab.namespaces.ip('client', 'link', 'add', 'link', 'c1', 'name', 'c2', 'type', 'macvlan', 'mode', 'bridge');
      lab.namespaces.ip('client', 'link', 'set', 'c2', 'up');
      const second = await addressOf('c2');
      expect(second).toMatch(/^10\.88\.0\.1\d\d$/);
      expect(second).not.toBe(first);
      const before = offersOn(wire).length;
      await expect.poll(() => offersOn(wire).length, { timeout: 90_000 }).toBeGreaterThan(before + POOL_SIZE);
      for (const address of [first, second]) expect(offersOn(wire).slice(before)).not.toContain(address);
      expect((await lab.leases()).map(({ address }) => address).toSorted()).toEqual([first, second].toSorted());
    } finally {
      flood.stop();
    }
    const given = (await lab.notes()).filter(({ data }) => (data as { because?: string }).because === 'oldest-offer');
    expect(given.length).toBeGreaterThan(0);
    console.log(`DISCOVERs with invented MAC addresses: ${flood.sent}`);
  });

  it('behind a switch that names its port does not even fill the pool', async () => {
    await lab.serve([NETWORK], '--no-probe', '--ignore-others');
    const wire = await lab.wire('attacker', 'a1');
    // Sub-option 1, the circuit id.
    const flood = new Flood(wire, Uint8Array.of(1, 4, 0, 0, 0, 7));
    try {
      await expect.poll(() => flood.sent, { timeout: 90_000 }).toBeGreaterThan(2 * POOL_SIZE);
      const address = await addressOf('c1');
      expect(address).toMatch(/^10\.88\.0\.1\d\d$/);
      expect(new Set(offersOn(wire)).size).toBeLessThan(POOL_SIZE);
      expect(offersOn(wire)).not.toContain(address);
    } finally {
      flood.stop();
    }
  });
});
