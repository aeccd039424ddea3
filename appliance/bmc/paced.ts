// A driver behind its gate: every verb waits for its turn.

import type { Bmc } from './bmc.ts';
import type { BmcGate } from './gates.ts';

/** `credential` marks who the driver logs in as: see `BmcGates.mark`. */
export function paced(bmc: Bmc, gate: BmcGate, credential: string): Bmc {
  const ask = <Result>(work: () => Promise<Result>): Promise<Result> => gate.pass({ credential, changes: false }, work);
  const change = <Result>(work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ credential, changes: true }, work);
  return {
    identity: () => ask(() => bmc.identity()),
    powerState: () => ask(() => bmc.powerState()),
    powerOn: () => change(() => bmc.powerOn()),
    powerOff: () => change(() => bmc.powerOff()),
    powerCycle: () => change(() => bmc.powerCycle()),
    powerReset: () => change(() => bmc.powerReset()),
    powerSoft: () => change(() => bmc.powerSoft()),
    setBoot: (choice) => change(() => bmc.setBoot(choice)),
    identify: (light) => change(() => bmc.identify(light)),
    sensors: () => ask(() => bmc.sensors()),
    eventLog: () => ask(() => bmc.eventLog()),
    clearEventLog: () => change(() => bmc.clearEventLog()),
    // Only the opening: a console lasts for hours, and the other verbs go on beside it.
    openConsole: (options) => ask(() => bmc.openConsole(options)),
    setOwnPassword: (password) => change(() => bmc.setOwnPassword(password)),
    close: () => bmc.close(),
  };
}
