// BMC access: sealed credentials, the drivers, and the verified network boot.

import { join } from 'node:path';
import { type BmcService, openBmcService } from '../bmc/access/bmc-service.ts';
import { bmcSystemClock } from '../bmc/clock.ts';
import { ConsoleFiles } from '../bmc/console/console-files.ts';
import { ColdironError } from '../domain/errors.ts';
import { DAY, HOUR } from '../domain/instant.ts';
import { parseMachineId } from '../domain/machine.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import { createVault } from '../identity/vault/vault.ts';
import { loadVaultKeys } from '../identity/vault/vault-keys.ts';
import { repeat } from '../net/repeat.ts';
import type { Foundation } from './foundation.ts';

export async function openBmc(foundation: Foundation): Promise<BmcService> {
  const { config, store, fleet, trail, logger, metrics } = foundation;
  return openBmcService({
    store,
    vault: createVault(await loadVaultKeys(config.state, process.env.CREDENTIALS_DIRECTORY)),
    passwords: { folder: config.bmcPasswordFolder, state: config.state },
    trail,
    clock: bmcSystemClock,
    bmcMode: ({ spec: { site } }) => (site && fleet.site(site)?.bmcMode) ?? null,
    current: (id) => fleet.machineById(id),
    onChange: (id, listener) => fleet.watch(id, listener),
    machines: () => fleet.machines(),
    consoleFiles: await openConsoleFiles(foundation),
    captureConsoles: config.captureConsoles,
    scanned: config.bmcScan,
    nodeAtBmc: (address) => fleet.machineByBmc(address)?.spec.hostname ?? null,
    log: logger,
    onCall: metrics.calledBmc,
  });
}

/** Files of machines that were removed, and those that are older than the events, are deleted. */
async function openConsoleFiles({ config, fleet, clock, logger, stops }: Foundation): Promise<ConsoleFiles> {
  const folder = join(config.state, 'consoles');
  const reason = await makePrivateFolder(folder);
  if (reason !== null) throw new ColdironError('invalid_config', `${folder} is not safe: ${reason}`);
  const files = new ConsoleFiles(folder, bmcSystemClock, logger);
  const isKnown = (name: string): boolean => {
    const id = parseMachineId(name);
    return id.ok && fleet.machineById(id.value) !== null;
  };
  const sweep = () => files.sweep(isKnown, clock.now() - config.retentionDays * DAY);
  await sweep();
  stops.add(repeat(HOUR, sweep, logger));
  return files;
}
