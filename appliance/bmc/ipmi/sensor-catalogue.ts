// A BMC's sensor records, read once and again only when the BMC says that they have changed: there are hundreds of them,
// and each takes several questions.

import { getSensorRepositoryInfo } from '../../codecs/ipmi/commands/sensor-repository.ts';
import type { SensorRecord } from '../../codecs/ipmi/sensor-record.ts';
import type { IpmiCaller } from './connection.ts';
import { sensorRecords } from './sensors.ts';

export type SensorCatalogue = (bmc: IpmiCaller) => Promise<readonly SensorRecord[]>;

export function sensorCatalogue(): SensorCatalogue {
  let kept: { readonly stand: string; readonly records: readonly SensorRecord[] } | null = null;
  return async (bmc) => {
    const { records: count, lastAddition, lastErasure } = await bmc.call(getSensorRepositoryInfo());
    const stand = `${count} ${lastAddition} ${lastErasure}`;
    if (kept?.stand !== stand) kept = { stand, records: await sensorRecords(bmc) };
    return kept.records;
  };
}
