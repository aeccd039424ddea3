// Puts a driver behind its gate: every verb is queued.

import type { Bmc } from './bmc.ts';
import { BmcError, type BmcFailure } from './bmc-error.ts';
import type { BmcGate } from './gates.ts';

/** Told of each call when it is over: how it ended, and how long it took without the time in the queue. */
export type OnBmcCall = (verb: keyof Bmc, result: 'ok' | BmcFailure | 'error', ms: number) => void;

/** `credential` identifies the credentials of the driver: see `BmcGates.fingerprint`. */
export function paced(bmc: Bmc, gate: BmcGate, credential: string, onCall: OnBmcCall = () => undefined): Bmc {
  const read = <Result>(verb: keyof Bmc, work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ verb, credential, changes: false }, () => measured(verb, work, onCall));
  const change = <Result>(verb: keyof Bmc, work: () => Promise<Result>): Promise<Result> =>
    gate.pass({ verb, credential, changes: true }, () => measured(verb, work, onCall));
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

async function measured<Result>(verb: keyof Bmc, work: () => Promise<Result>, onCall: OnBmcCall): Promise<Result> {
  const began = performance.now();
  try {
    const result = await work();
    onCall(verb, 'ok', performance.now() - began);
    return result;
  } catch (error) {
    onCall(verb, error instanceof BmcError ? error.failure : 'error', performance.now() - began);
    throw error;
  }
}
