// A dry-run driver: it records each action and contacts no BMC. Queries return unknown or empty values.

import type { Bmc, BmcConsole, BootChoice, BootDevice, IdentifyLight } from './bmc.ts';

export type RecordedAction =
  | 'power-on'
  | 'power-off'
  | 'power-cycle'
  | 'power-reset'
  | 'power-soft'
  | `boot-${'once' | 'always'}-from-${BootDevice}${'' | '-efi' | '-legacy'}`
  | `identify-${'on' | 'off' | `${number}-seconds`}`
  | 'clear-event-log'
  | 'open-console'
  | 'take-over-console'
  /** Never contains the password. */
  | 'set-own-password'
  /** Without the URL, which only the BMC may know. */
  | 'insert-media'
  | 'eject-media';

export function recorderBmc(write: (action: RecordedAction) => void): Bmc {
  const record = async (action: RecordedAction): Promise<void> => write(action);
  return {
    identity: async () => ({ vendor: 'unknown', product: 'unknown', firmware: 'unknown', serial: null }),
    networkCards: async () => [],
    powerState: async () => 'unknown',
    powerOn: () => record('power-on'),
    powerOff: () => record('power-off'),
    powerCycle: () => record('power-cycle'),
    powerReset: () => record('power-reset'),
    powerSoft: () => record('power-soft'),
    setBoot: async (choice) => {
      write(bootAction(choice));
      return { device: choice.device, differences: [] };
    },
    identify: (light) => record(`identify-${lightText(light)}`),
    sensors: async () => [],
    eventLog: async () => [],
    clearEventLog: () => record('clear-event-log'),
    openConsole: async ({ steal }) => {
      write(steal ? 'take-over-console' : 'open-console');
      return silentConsole();
    },
    setOwnPassword: () => record('set-own-password'),
    insertMedia: () => record('insert-media'),
    ejectMedia: () => record('eject-media'),
    close: async () => undefined,
  };
}

const bootAction = ({ device, persistent, firmware }: BootChoice): RecordedAction =>
  `boot-${persistent ? 'always' : 'once'}-from-${device}${firmware === null ? '' : (`-${firmware}` as const)}`;

const lightText = (light: IdentifyLight): 'on' | 'off' | `${number}-seconds` =>
  typeof light === 'string' ? light : `${light.seconds}-seconds`;

/** A console without a peer: it ends at the first read. */
const silentConsole = (): BmcConsole => ({
  write: () => undefined,
  close: async () => undefined,
  async *[Symbol.asyncIterator]() {
    // No output.
  },
});
