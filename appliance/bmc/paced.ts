// Puts a driver behind its gate: every verb is queued.

import type { Bmc } from './bmc.ts';
import type { BmcGate } from './gates.ts';

/** `credential` identifies the credentials of the driver: see `BmcGates.fingerprint`. */
export function paced(bmc: Bmc, gate: BmcGate, credential: string): Bmc {
  const read = <Result>(work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ credential, changes: false }, work);
  const change = <Result>(work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ credential, changes: true }, work);
  return {
    identity: () => read(() => bmc.identity()),
    powerState: () => read(() => bmc.powerState()),
    powerOn: () => change(() => bmc.powerOn()),
    powerOff: () => change(() => bmc.powerOff()),
    powerCycle: () => change(() => bmc.powerCycle()),
    powerReset: () => change(() => bmc.powerReset()),
    powerSoft: () => change(() => bmc.powerSoft()),
    setBoot: (choice) => change(() => bmc.setBoot(choice)),
    identify: (light) => change(() => bmc.identify(light)),
    sensors: () => read(() => bmc.sensors()),
    eventLog: () => read(() => bmc.eventLog()),
    clearEventLog: () => change(() => bmc.clearEventLog()),
    // Only the opening is queued: a console lasts for hours, and other verbs run beside it.
    openConsole: (options) => read(() => bmc.openConsole(options)),
    setOwnPassword: (password) => change(() => bmc.setOwnPassword(password)),
    insertMedia: (image, replaces) => change(() => bmc.insertMedia(image, replaces)),
    ejectMedia: (which) => change(() => bmc.ejectMedia(which)),
    close: () => bmc.close(),
  };
}
