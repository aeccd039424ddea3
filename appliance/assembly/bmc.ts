// BMC access: sealed credentials, the drivers, and the verified network boot.

import { type BmcService, openBmcService } from '../bmc/access/bmc-service.ts';
import { bmcSystemClock } from '../bmc/clock.ts';
import { createVault } from '../identity/vault/vault.ts';
import { loadVaultKeys } from '../identity/vault/vault-keys.ts';
import type { Foundation } from './foundation.ts';

export async function openBmc({ config, store, fleet, trail, logger }: Foundation): Promise<BmcService> {
  return openBmcService({
    store,
    vault: createVault(await loadVaultKeys(config.state, process.env.CREDENTIALS_DIRECTORY)),
    passwords: { folder: config.bmcPasswordFolder, state: config.state },
    trail,
    clock: bmcSystemClock,
    bmcMode: ({ spec: { site } }) => (site && fleet.site(site)?.bmcMode) ?? null,
    current: (id) => fleet.machineById(id),
    onChange: (id, listener) => fleet.watch(id, listener),
    scanned: config.bmcScan,
    nodeAtBmc: (address) => fleet.machineByBmc(address)?.spec.hostname ?? null,
    log: logger,
  });
}
