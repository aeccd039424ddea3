// Switches a machine of the rack on and waits for a result. On failure it reports both sides: what
// the machine printed, and what the appliance logged.

import type { VirtualMachineSpec } from '../../../appliance/lab/rack/firmware.ts';
import { RackMachine } from '../../../appliance/lab/rack/machine.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import { fairClock } from './fair-clock.ts';
import type { LogLine, RackSite } from './rack-site.ts';

/** A boot takes 10 to 30 seconds; waiting for a processor does not count. */
const BOOT_WITHIN_MS = 300_000;
/** What a machine has sent is already received; a busy appliance may log it later. */
const LOGGED_WITHIN_MS = 60_000;
const LINES_TOLD = 40;

export interface KernelReport {
  readonly mac: string;
  readonly platform: string;
  readonly architecture: string;
}

export interface Boot {
  /** What the booted kernel reported to the appliance. */
  readonly report: KernelReport;
  /** Everything that the machine printed. */
  readonly console: string;
  /** The appliance's log since the machine was switched on. */
  readonly log: readonly LogLine[];
}

/** Up to a running kernel that has reported; `network`: the network of its card, if not the appliance's. */
export async function bootAndWait(site: RackSite, spec: VirtualMachineSpec, network = site.network): Promise<Boot> {
  const before = site.log().length;
  return await withMachine(site, network, spec, async (machine) => {
    // The reporter prints `ends` in any case.
    const [, how] = await machine.console.waitFor(
      /coldiron-reporter: (reported|ends)/,
      BOOT_WITHIN_MS,
      fairClock(() => machine.pid),
    );
    if (how !== 'reported') throw new Error('its kernel has started, and ended without a report');
    const isReport = ({ path, mac }: LogLine): boolean => path === '/boot/report' && mac === spec.mac;
    const { mac = '', report: reported } = await site.logged(isReport, LOGGED_WITHIN_MS);
    const report = { mac, platform: reported?.platform ?? '', architecture: reported?.message ?? '' };
    return { report, console: machine.console.text, log: site.log().slice(before) };
  });
}

/** Waits for a text on the console; returns everything that was printed. */
export async function bootAndRead(
  site: RackSite,
  spec: VirtualMachineSpec,
  ...markers: readonly RegExp[]
): Promise<string> {
  return await withMachine(site, site.network, spec, async (machine) => {
    const clock = fairClock(() => machine.pid);
    for (const marker of markers) await machine.console.waitFor(marker, BOOT_WITHIN_MS, clock);
    return machine.console.text;
  });
}

async function withMachine<T>(
  site: RackSite,
  network: RackNetwork,
  spec: VirtualMachineSpec,
  observe: (machine: RackMachine) => Promise<T>,
): Promise<T> {
  const machine = await RackMachine.powerOn(network, spec);
  try {
    return await observe(machine);
  } catch (error) {
    throw new Error(
      [
        (error as Error).message,
        `--- the last of the console of ${spec.firmware} ${spec.mac}`,
        ...machine.console.lastLines(LINES_TOLD),
        '--- the last of the log of the appliance',
        ...site
          .log()
          .slice(-LINES_TOLD)
          .map((line) => JSON.stringify(line)),
      ].join('\n'),
      { cause: error },
    );
  } finally {
    await machine.powerOff();
  }
}
