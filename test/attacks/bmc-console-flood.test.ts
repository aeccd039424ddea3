// A hostile BMC floods its serial console with escape sequences. The console shows them unchanged, because it is a terminal; but
// the flood must not take the memory of the appliance or its time for others.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { Unread } from '../../appliance/bmc/ipmi/unread.ts';
import { PATIENT, startSimulator, targetOf } from '../bmc/ipmi/client-rig.ts';
import type { SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';

const MEGABYTE = 1024 * 1024;
const ESCAPES = Buffer.from('\x1b]0;owned\x07\x1b]52;c;AAAA\x07\x1b[2J\x1b[31m\x9b6n\u202e\r\n', 'latin1');

async function consoleOf(simulator: SimulatedBmc) {
  const bmc = ipmiBmc(targetOf(simulator.port), { efi: true }, PATIENT);
  onTestFinished(() => bmc.close());
  return { bmc, console: await bmc.openConsole({ steal: false }) };
}

/** Sends console packets, a few per turn of the event loop, until it is stopped. */
function flood(
  simulator: SimulatedBmc,
  characters: Buffer,
): { readonly sent: () => number; readonly stop: () => void } {
  let [sent, stopped] = [0, false];
  const more = (): void => {
    if (stopped) return;
    for (let at = 0; at < 20; at++) {
      simulator.sendConsole(Buffer.concat([Buffer.of((sent % 15) + 1, 0, 0, 0), characters]));
      sent += 1;
    }
    setImmediate(more);
  };
  const stop = (): void => {
    stopped = true;
  };
  onTestFinished(stop);
  more();
  return { sent: () => sent, stop };
}

describe('a console that floods', () => {
  it('a viewer that does not read is closed, and the BMC loses its session', async () => {
    const simulator = await startSimulator();
    const { console } = await consoleOf(simulator);
    const { stop } = flood(simulator, Buffer.alloc(3000, ESCAPES));
    await expect.poll(() => simulator.activeSessions, { timeout: 60_000 }).toBe(0);
    stop();
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of console) bytes += chunk.length;
    })();
    await expect(reading).rejects.toThrow('its client does not read the output');
    expect(bytes).toBeLessThanOrEqual(4 * MEGABYTE);
    expect(bytes).toBeGreaterThan(3 * MEGABYTE);
  });

  it('does not keep the verbs of another BMC from being served', async () => {
    const [hostile, other] = [await startSimulator(), await startSimulator()];
    const { console } = await consoleOf(hostile);
    const { sent } = flood(hostile, ESCAPES);
    let seen = 0;
    const reading = (async () => {
      for await (const chunk of console) seen += chunk.length;
    })();
    const bmc = ipmiBmc(targetOf(other.port), { efi: true }, PATIENT);
    onTestFinished(() => bmc.close());
    await bmc.powerOn();
    expect(await bmc.powerState()).toBe('on');
    expect((await bmc.eventLog()).length).toBe(2);
    // The flood went on meanwhile, and was read.
    const before = sent();
    await expect.poll(sent).toBeGreaterThan(before);
    await expect.poll(() => seen).toBeGreaterThan(0);
    await console.close();
    await reading;
  });

  it('byte by byte takes no more memory than it sends', () => {
    const unread = new Unread(4 * MEGABYTE);
    const one = Uint8Array.of(0x1b);
    const used = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    const before = used();
    let pushed = 0;
    while (pushed < 4 * MEGABYTE && unread.push(one)) pushed += 1;
    expect(pushed).toBe(4 * MEGABYTE);
    expect(used() - before).toBeLessThan(64 * MEGABYTE);
    expect(unread.push(one)).toBe(false);
    let bytes = 0;
    for (let next = unread.shift(); next; next = unread.shift()) bytes += next.length;
    expect(bytes).toBe(4 * MEGABYTE);
    expect(unread.push(one)).toBe(true);
  });
});
