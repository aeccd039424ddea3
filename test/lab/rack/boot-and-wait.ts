// Switches a machine of the rack on and waits for what it comes to. When it does not, both sides of the story are told: what
// the machine printed, and what the appliance logged.

import type { MachineSpec } from '../../../appliance/lab/rack/firmware.ts';
import { RackMachine } from '../../../appliance/lab/rack/machine.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import type { LogLine, RackSite } from './rack-site.ts';

/** A boot takes 10 to 30 seconds on an idle machine; tests may have to share it. */
const BOOT_WITHIN_MS = 300_000;
const LINES_TOLD = 40;

export interface KernelReport {
  readonly mac: string;
  readonly platform: string;
  readonly architecture: string;
}

export interface Boot {
  /** What the started kernel told the appliance about itself. */
  readonly report: KernelReport;
  /** All that the machine printed. */
  readonly console: string;
  /** What the appliance has logged since the machine was switched on. */
  readonly log: readonly LogLine[];
}

/** All the way to a running kernel that has reported; `network`: where its card is plugged in, if not at the appliance's. */
export async function bootAndWait(site: RackSite, spec: MachineSpec, network = site.network): Promise<Boot> {
  const before = site.log().length;
  return await withMachine(site, network, spec, async (machine) => {
    // It says that it ends whatever has become of it.
    const [, how] = await machine.console.waitFor(/coldiron-reporter: (reported|ends)/, BOOT_WITHIN_MS);
    if (how !== 'reported') throw new Error('its kernel has started, and ended without a report');
    const isReport = ({ path, mac }: LogLine): boolean => path === '/boot/report' && mac === spec.mac;
    const { mac = '', report: told } = await site.logged(isReport, 10_000);
    const report = { mac, platform: told?.platform ?? '', architecture: told?.message ?? '' };
    return { report, console: machine.console.text, log: site.log().slice(before) };
  });
}

/** To a text on its screen; returns all that it has printed. */
export async function bootAndRead(site: RackSite, spec: MachineSpec, ...markers: readonly RegExp[]): Promise<string> {
  return await withMachine(site, site.network, spec, async (machine) => {
    for (const marker of markers) await machine.console.waitFor(marker, BOOT_WITHIN_MS);
    return machine.console.text;
  });
}

async function withMachine<T>(
  site: RackSite,
  network: RackNetwork,
  spec: MachineSpec,
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
