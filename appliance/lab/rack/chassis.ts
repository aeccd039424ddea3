// What OpenIPMI's simulator says to its chassis program, and what it hears:
//
//   get power            → power:1
//   get boot             → boot:pxe
//   set power 1, set reset 1, set shutdown 1, set boot pxe, set identify 15 0
//
// It repeats an order whose answer it did not wait for, so each is done once however often it is said.

/** The words of the simulator. `default` is IPMI's "default hard drive"; `none` is no wish at all. */
export const BOOT_FLAGS = ['none', 'pxe', 'default', 'cdrom', 'bios'] as const;
export type BootFlag = (typeof BOOT_FLAGS)[number];

export interface Chassis {
  readonly isOn: boolean;
  readonly bootFlag: BootFlag;
  powerOn(): Promise<void>;
  /** At once, as by pulling the plug. */
  powerOff(): Promise<void>;
  /** A machine that is off stays off. */
  reset(): Promise<void>;
  /** Presses the button; whether anything happens is for the operating system to decide. */
  softOff(): Promise<void>;
  /** For the next start only. */
  setBootFlag(flag: BootFlag): Promise<void>;
  /** Seconds; `Infinity` until further notice, 0 is off. */
  identify(seconds: number): void;
}

/** Rejects on words that make no sense. */
export async function obey(chassis: Chassis, [verb, ...words]: readonly string[]): Promise<string> {
  if (verb === 'get') return words.map((word) => `${word}:${told(chassis, word)}\n`).join('');
  if (verb === 'check') return '';
  if (verb !== 'set') throw new Error(`not a verb of the chassis: ${verb}`);
  const rest = [...words];
  for (let what = rest.shift(); what !== undefined; what = rest.shift()) await set(chassis, what, rest);
  return '';
}

function told({ isOn, bootFlag }: Chassis, word: string): string {
  if (word === 'power') return isOn ? '1' : '0';
  if (word === 'boot') return bootFlag;
  return '0';
}

async function set(chassis: Chassis, what: string, rest: string[]): Promise<void> {
  const value = rest.shift() ?? '';
  switch (what) {
    case 'power':
      return await (value === '0' ? chassis.powerOff() : chassis.powerOn());
    case 'reset':
      return await chassis.reset();
    case 'shutdown':
      return await chassis.softOff();
    case 'boot':
      return await chassis.setBootFlag(bootFlagOf(value));
    case 'identify':
      // IPMI v2.0 §28.5: how long, and whether until further notice.
      return chassis.identify(rest.shift() === '1' ? Number.POSITIVE_INFINITY : Number(value));
    default:
      throw new Error(`not a thing of the chassis: ${what}`);
  }
}

function bootFlagOf(text: string): BootFlag {
  const flag = BOOT_FLAGS.find((known) => known === text);
  if (flag === undefined) throw new Error(`not a boot device: ${text}`);
  return flag;
}
