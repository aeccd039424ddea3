// The machine behind a mock BMC: the state that its resources show and its actions change. Time is counted in reads, not seconds.

export type MockPower = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';

export interface MockBoot {
  target: string;
  enabled: string;
  mode: string;
  httpBootUri: string | null;
}

export interface MockUser {
  name: string;
  password: string;
  mustChangePassword: boolean;
}

export interface MockEntry {
  readonly id: string;
  readonly created: string;
  readonly severity: string;
  readonly message: string;
}

export interface MockMachine {
  uuid: string;
  power: MockPower;
  /** ResetTypes in order of arrival. */
  readonly resets: string[];
  boot: MockBoot;
  /** The boot target of each boot. */
  readonly startedFrom: string[];
  light: boolean;
  image: string | null;
  readonly users: MockUser[];
  log: MockEntry[];
}

/** Misbehaviour of the BMC. Counts are in requests or reads, and decrease. */
export interface BmcFaults {
  /** Accepts resets and does nothing. */
  powerIgnored?: boolean;
  /** Reads of the system until a change of power is complete. */
  powerTakes?: number;
  /** Accepts overrides and stores none. */
  bootIgnored?: boolean;
  /** Reads for which the old override is still shown. */
  bootTakes?: number;
  lightIgnored?: boolean;
  mediaIgnored?: boolean;
  passwordIgnored?: boolean;
  logKept?: boolean;
  /** Requests that are answered with 503. */
  unavailable?: number;
  /** Changes that are refused with this message before one is accepted. */
  notNow?: { readonly status: number; readonly messageId: string; times: number };
  /** Reads until a task is complete; Infinity: never. */
  taskTakes?: number;
  taskFails?: boolean;
}

export const ADMIN = { name: 'root', password: 'Correct-Horse-7' };

export function mockMachine(): MockMachine {
  return {
    uuid: '4c4c4544-0042-3510-8052-b4c04f565931',
    power: 'Off',
    resets: [],
    boot: { target: 'None', enabled: 'Disabled', mode: 'Legacy', httpBootUri: 'http://192.0.2.1/old.efi' },
    startedFrom: [],
    light: false,
    image: null,
    users: [
      { name: 'guest', password: 'Guest-Word-1', mustChangePassword: false },
      { ...ADMIN, mustChangePassword: false },
    ],
    log: [
      { id: '1', created: '2024-03-01T10:00:00Z', severity: 'OK', message: 'System Boot' },
      { id: '2', created: '2024-03-02T11:30:00Z', severity: 'Warning', message: 'Fan 3 slow' },
      { id: '3', created: '2024-03-03T12:45:00+01:00', severity: 'Critical', message: 'PSU 1 lost its input' },
    ],
  };
}

/** Applies the override when the machine boots. */
function start(machine: MockMachine): void {
  const { boot } = machine;
  machine.startedFrom.push(boot.enabled === 'Disabled' ? 'None' : boot.target);
  if (boot.enabled === 'Once') boot.enabled = 'Disabled';
}

/** Null: done. Otherwise the id of the refusal: firmware refuses a state that is already reached. */
export function resetMachine(machine: MockMachine, type: string, faults: BmcFaults): string | null {
  machine.resets.push(type);
  const isOn = machine.power === 'On' || machine.power === 'PoweringOn';
  if (faults.powerIgnored) return null;
  const slow = (faults.powerTakes ?? 0) > 0;
  switch (type) {
    case 'On':
    case 'ForceOn':
      if (isOn) return 'Base.1.8.NoOperation';
      machine.power = slow ? 'PoweringOn' : 'On';
      start(machine);
      return null;
    case 'ForceOff':
      if (!isOn) return 'Base.1.8.NoOperation';
      machine.power = slow ? 'PoweringOff' : 'Off';
      return null;
    case 'GracefulShutdown':
      return isOn ? null : 'Base.1.8.NoOperation';
    case 'PushPowerButton':
      machine.power = isOn ? 'Off' : 'On';
      if (!isOn) start(machine);
      return null;
    default:
      if (!isOn) return 'Base.1.8.NoOperation';
      start(machine);
      return null;
  }
}

/** Counts a read; slow changes progress. */
export function passLook(machine: MockMachine, faults: BmcFaults): void {
  if (machine.power !== 'PoweringOn' && machine.power !== 'PoweringOff') return;
  const left = (faults.powerTakes ?? 0) - 1;
  faults.powerTakes = left;
  if (left <= 0) machine.power = machine.power === 'PoweringOn' ? 'On' : 'Off';
}
