// Settings of a BMC service that captures no console, with a folder of its own that is removed after the test.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BmcClock, bmcSystemClock } from '../../../appliance/bmc/clock.ts';
import { ConsoleFiles } from '../../../appliance/bmc/console/console-files.ts';

export async function quietConsoles(clock: BmcClock = bmcSystemClock) {
  const folder = await mkdtemp(join(tmpdir(), 'coldiron-consoles-'));
  return {
    settings: {
      machines: () => [],
      consoleFiles: new ConsoleFiles(folder, clock, { warn: () => undefined }),
      captureConsoles: false,
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
