// Puts a driver behind its gate: every verb is queued.

import type { Bmc } from './bmc.ts';
import type { BmcGate } from './gates.ts';

/** `credential` identifies the credentials of the driver: see `BmcGates.fingerprint`. */
export function paced(bmc: Bmc, gate: BmcGate, credential: string): Bmc {
  const read = <Result>(verb: keyof Bmc, work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ verb, credential, changes: false }, work);
  const change = <Result>(verb: keyof Bmc, work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ verb, credential, changes: true }, work);
  return {
    identity: () => read('identity', () => bmc.identity()),
    networkCards: () => read('networkCards', () => bmc.networkCards()),
    powerState: () => read('powerState', () => bmc.powerState()),
    powerOn: () => change('powerOn', () => bmc.powerOn()),
    powerOff: () => change('powerOff', () => bmc.powerOff()),
    powerCycle: () => change('powerCycle', () => bmc.powerCycle()),
    powerReset: () => change('powerReset', () => bmc.powerReset()),
    powerSoft: () => change('powerSoft', () => bmc.powerSoft()),
    setBoot: (choice) => change('setBoot', () => bmc.setBoot(choice)),
    identify: (light) => change('identify', () => bmc.identify(light)),
    sensors: () => read('sensors', () => bmc.sensors()),
    eventLog: () => read('eventLog', () => bmc.eventLog()),
    clearEventLog: () => change('clearEventLog', () => bmc.clearEventLog()),
    // Only the opening is queued: a console lasts for hours, and other verbs run beside it.
    openConsole: (options) => read('openConsole', () => bmc.openConsole(options)),
    setOwnPassword: (password) => change('setOwnPassword', () => bmc.setOwnPassword(password)),
    insertMedia: (image, replaces) => change('insertMedia', () => bmc.insertMedia(image, replaces)),
    ejectMedia: (which) => change('ejectMedia', () => bmc.ejectMedia(which)),
    close: () => bmc.close(),
  };
}
