// An attacker forges the address of a victim in read requests: the replies go to the victim, who answers none of them.

import { describe, expect, it } from 'vitest';
import type { Mac } from '../../appliance/domain/mac.ts';
import type { TftpSettings } from '../../appliance/servers/tftp/tftp-settings.ts';
import type { TransferClock } from '../../appliance/servers/tftp/transfer-port.ts';
import { MAC } from '../boot/boot-fixtures.ts';
import { load, sloppyClient } from '../servers/tftp/sloppy-client.ts';
import { resolverWith, startServer } from '../servers/tftp/tftp-rig.ts';
import { readRequest, type SilentSource, silentSource } from './tftp-sources.ts';

/** Longer than any transfer without an answer lasts. */
const PASSED_MS = 40_000;
const STEP_MS = 100;

/** A server whose time the test moves. */
async function serverFor(holder: Mac | null, settings: Partial<TftpSettings> = {}) {
  let now = 0;
  const ticks = new Set<() => void>();
  const clock: TransferClock = {
    now: () => now,
    every: (_period, run) => {
      ticks.add(run);
      return { cancel: () => void ticks.delete(run) };
    },
  };
  const resolver = await resolverWith({
    machine: null,
    network: { unknown: 'inspect' },
    resolver: { macOf: () => holder },
  });
  const rig = await startServer(settings, resolver, { clock });
  const pass = async (ms: number): Promise<void> => {
    for (const end = now + ms; now < end; ) {
      now += STEP_MS;
      for (const tick of [...ticks]) tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { ...rig, pass };
}

/** Waits until the victim has everything that was sent to it: replies to an honest client arrive after them. */
async function settled(port: number): Promise<void> {
  const last = await silentSource('127.0.9.9');
  last.send(readRequest('no such file'), port);
  await expect.poll(() => last.packets.received).toBe(1);
}

const factorOf = ({ bytes }: SilentSource): number => bytes.received / bytes.sent;

describe('an attacker who reflects TFTP replies at a victim', () => {
  it('gets one packet for a request without options, where the victim has no lease', async () => {
    const rig = await serverFor(null);
    const victim = await silentSource('127.0.4.1');
    victim.send(readRequest('ipxe.efi'), rig.port);
    await expect.poll(() => victim.packets.received).toBeGreaterThan(0);
    await rig.pass(PASSED_MS);
    await settled(rig.port);
    console.log(
      `one request of ${victim.bytes.sent} bytes: ${victim.packets.received} packets, ${victim.bytes.received} bytes, factor ${factorOf(victim).toFixed(1)}`,
    );
    expect(victim.packets.received).toBe(1);
    expect(factorOf(victim)).toBeLessThan(31);
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it.each([
    ['the size', { tsize: '0' }],
    ['every option', { tsize: '0', blksize: '1468', windowsize: '16', timeout: '1' }],
  ])('gets little more than it sends for a request with %s', async (_what, options) => {
    const rig = await serverFor(null);
    const victim = await silentSource('127.0.4.2');
    victim.send(readRequest('ipxe.efi', options), rig.port);
    await expect.poll(() => victim.packets.received).toBeGreaterThan(0);
    await rig.pass(PASSED_MS);
    await settled(rig.port);
    console.log(`with options: ${victim.packets.received} packets, factor ${factorOf(victim).toFixed(1)}`);
    expect(factorOf(victim)).toBeLessThan(5);
  });

  it.each([
    ['from one port', 1, null],
    ['from a hundred ports', 100, null],
    ['from a hundred ports, of a machine with a lease', 100, MAC],
  ])('gets a fixed number of bytes for a thousand requests %s', async (_how, ports, holder) => {
    const rig = await serverFor(holder);
    const victims = await Promise.all(Array.from({ length: ports }, () => silentSource('127.0.4.3')));
    for (let sent = 0; sent < 1000; sent += 1) {
      victims[sent % ports]?.send(readRequest('ipxe.efi'), rig.port);
      // The server's socket must not overflow: then the test would measure the kernel.
      if (sent % 100 === 99) await settled(rig.port);
    }
    await rig.pass(PASSED_MS);
    await settled(rig.port);
    const sum = (of: (victim: SilentSource) => number): number =>
      victims.reduce((total, victim) => total + of(victim), 0);
    const [sent, received] = [sum(({ bytes }) => bytes.sent), sum(({ bytes }) => bytes.received)];
    console.log(
      `a thousand requests, ${sent} bytes: ${sum(({ packets }) => packets.received)} packets, ${received} bytes, factor ${(received / sent).toFixed(1)}`,
    );
    expect(received).toBeLessThan(60_000);
  });

  it('does not shut out a client that answers, from the same address', async () => {
    const rig = await serverFor(MAC);
    const forged = await Promise.all(Array.from({ length: 50 }, () => silentSource('127.0.0.1')));
    for (const source of forged) source.send(readRequest('ipxe.efi'), rig.port);
    await settled(rig.port);
    // Firmware uses options: its first reply is no longer than its request.
    const client = await sloppyClient();
    expect(await load(client, rig.port, 'ipxe.efi', { blksize: '1468' })).toHaveLength(20_000);
  });
});
