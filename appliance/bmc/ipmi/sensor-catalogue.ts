// Caches a BMC's sensor records, and reads them again only when the repository's time stamps change: there are hundreds of them,
// and each takes several requests.

import { getSensorRepositoryInfo } from '../../codecs/ipmi/commands/sensor-repository.ts';
import type { SensorRecord } from '../../codecs/ipmi/sensor-record.ts';
import type { IpmiCaller } from './connection.ts';
import { sensorRecords } from './sensors.ts';

export type SensorCatalogue = (bmc: IpmiCaller) => Promise<readonly SensorRecord[]>;

export function sensorCatalogue(): SensorCatalogue {
  let kept: { readonly version: string; readonly records: readonly SensorRecord[] } | null = null;
  return async (bmc) => {
    const { records: count, lastAddition, lastErasure } = await bmc.call(getSensorRepositoryInfo());
    const version = `${count} ${lastAddition} ${lastErasure}`;
    if (kept?.version !== version) kept = { version, records: await sensorRecords(bmc) };
    return kept.records;
  };
}
