// The commands that OpenIPMI's simulator passes to its chassis program, and the replies:
//
//   get power            → power:1
//   get boot             → boot:pxe
//   set power 1, set reset 1, set shutdown 1, set boot pxe, set identify 15 0
//
// The simulator repeats a command whose reply timed out, so every command is idempotent.

/** The simulator's names. `default` is IPMI's "default hard drive"; `none` means no override. */
export const BOOT_FLAGS = ['none', 'pxe', 'default', 'cdrom', 'bios'] as const;
export type BootFlag = (typeof BOOT_FLAGS)[number];

export interface Chassis {
  readonly isOn: boolean;
  readonly bootFlag: BootFlag;
  powerOn(): Promise<void>;
  /** Immediately, like pulling the plug. */
  powerOff(): Promise<void>;
  /** Has no effect on a machine that is off. */
  reset(): Promise<void>;
  /** Presses the power button; the operating system decides whether to shut down. */
  softOff(): Promise<void>;
  /** For the next boot only. */
  setBootFlag(flag: BootFlag): Promise<void>;
  /** In seconds; `Infinity`: until changed, 0: off. */
  identify(seconds: number): void;
}

/** Rejects unknown commands. */
export async function runChassisCommand(chassis: Chassis, [verb, ...words]: readonly string[]): Promise<string> {
  if (verb === 'get') return words.map((word) => `${word}:${propertyValue(chassis, word)}\n`).join('');
  if (verb === 'check') return '';
  if (verb !== 'set') throw new Error(`not a chassis command: ${verb}`);
  const rest = [...words];
  for (let property = rest.shift(); property !== undefined; property = rest.shift()) await set(chassis, property, rest);
  return '';
}

function propertyValue({ isOn, bootFlag }: Chassis, word: string): string {
  if (word === 'power') return isOn ? '1' : '0';
  if (word === 'boot') return bootFlag;
  return '0';
}

async function set(chassis: Chassis, property: string, rest: string[]): Promise<void> {
  const value = rest.shift() ?? '';
  switch (property) {
    case 'power':
      return await (value === '0' ? chassis.powerOff() : chassis.powerOn());
    case 'reset':
      return await chassis.reset();
    case 'shutdown':
      return await chassis.softOff();
    case 'boot':
      return await chassis.setBootFlag(bootFlagOf(value));
    case 'identify':
      // IPMI v2.0 §28.5: duration, and whether the light stays on until changed.
      return chassis.identify(rest.shift() === '1' ? Number.POSITIVE_INFINITY : Number(value));
    default:
      throw new Error(`not a chassis property: ${property}`);
  }
}

function bootFlagOf(text: string): BootFlag {
  const flag = BOOT_FLAGS.find((known) => known === text);
  if (flag === undefined) throw new Error(`not a boot device: ${text}`);
  return flag;
}
