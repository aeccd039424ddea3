// Replies of a simulated BMC inside a session. Written from the specification's tables, not with the client's codecs.

import type { SimulatedMachine } from './machine.ts';

export interface Answer {
  readonly code: number;
  readonly data: readonly number[];
}

/** Configurable misbehaviour of the BMC. */
export interface BmcFaults {
  /** Accepts boot flags and reads back these instead. */
  bootReadBack?: readonly number[];
  /** Accepts power commands and does nothing. */
  ignoresPower?: boolean;
  /** Replies to this command (netFn·256 + command) with these completion codes first. */
  refuses?: { readonly command: number; readonly codes: number[] };
  /** Executes this command (netFn·256 + command) without a reply. */
  unanswered?: number;
  /** Accepts passwords and stores this many bytes of them; 0: keeps the old one. */
  passwordBytes?: number;
  /** Does not support the password test. */
  cannotTestPasswords?: boolean;
  wrongChecksums?: boolean;
  largestRead?: number;
  /** Replies to a command (netFn·256 + command) with this instead. */
  replies?: ReadonlyMap<number, (data: Uint8Array) => Answer>;
}

const done = (...data: readonly number[]): Answer => ({ code: 0, data });
const refused = (code: number): Answer => ({ code, data: [] });
const word = (value: number): [number, number] => [value & 0xff, (value >> 8) & 0xff];
const ADMINISTRATOR = 4;

interface Context {
  readonly machine: SimulatedMachine;
  readonly faults: BmcFaults;
  readonly data: Uint8Array;
}

type Handler = (context: Context) => Answer;

const at = (data: Uint8Array, index: number): number => data[index] ?? 0;
const wordAt = (data: Uint8Array, index: number): number => at(data, index) | (at(data, index + 1) << 8);

export function answerCommand(context: Context, netFn: number, command: number, privilege: number): Answer {
  const number = netFn * 256 + command;
  const planned = context.faults.refuses;
  const code = planned?.command === number ? planned.codes.shift() : undefined;
  if (code !== undefined) return refused(code);
  const replaced = context.faults.replies?.get(number);
  if (replaced) return replaced(context.data);
  const handler = HANDLERS[number];
  if (!handler) return refused(0xc1);
  if (NEED_ADMINISTRATOR.has(number) && privilege < ADMINISTRATOR) return refused(0xd4);
  return handler(context);
}

const NEED_ADMINISTRATOR = new Set([0x0643, 0x0645, 0x0647, 0x0a47]);

const HANDLERS: Readonly<Record<number, Handler>> = {
  1537: () => done(0x20, 0x01, 0x02, 0x34, 0x02, 0x9f, ...[0x7c, 0x2a, 0x00], ...word(0x0810)),
  1591: () => done(...Array.from({ length: 16 }, (_, index) => index + 1)),
  1: ({ machine }) => done(machine.power === 'on' ? 0x21 : 0x20, 0, 0x40, 0),
  2: ({ machine, faults, data }) => {
    const control = at(data, 0);
    machine.controls.push(control);
    if ((control === 2 || control === 3) && machine.power === 'off') return refused(0xd5);
    if (faults.ignoresPower) return done();
    machine.power = control === 0 || control === 5 ? 'off' : 'on';
    if (machine.power === 'on') machine.onStart(machine.bootParameters.get(5) ?? []);
    return done();
  },
  4: ({ machine, data }) => {
    machine.identify = [...data];
    return done();
  },
  8: ({ machine, data }) => {
    const parameter = at(data, 0) & 0x7f;
    if (![0, 3, 4, 5].includes(parameter)) return refused(0x80);
    machine.bootParameters.set(parameter, [...data.subarray(1)]);
    return done();
  },
  9: ({ machine, faults, data }) => {
    const parameter = at(data, 0) & 0x7f;
    const held = parameter === 5 && faults.bootReadBack ? faults.bootReadBack : machine.bootParameters.get(parameter);
    return held ? done(1, parameter, ...held) : refused(0x80);
  },
  2624: ({ machine }) => done(0x51, ...word(machine.events.length), ...word(4096), 0, 0, 0, 0, 0, 0, 0, 0, 0x0a),
  2626: ({ machine }) => done(...word(++machine.reservation)),
  2627: ({ machine, data }) => {
    const id = wordAt(data, 2);
    const index = id === 0 ? 0 : machine.events.findIndex((event) => wordAt(event, 0) === id);
    const event = machine.events[index];
    if (!event) return refused(0xcb);
    const next = machine.events[index + 1];
    return done(...(next ? word(wordAt(next, 0)) : word(0xffff)), ...event);
  },
  2630: ({ machine, data }) => {
    if (wordAt(data, 0) !== machine.reservation) return refused(0xc5);
    const id = wordAt(data, 2);
    const kept = machine.events.filter((event) => wordAt(event, 0) !== id);
    if (kept.length === machine.events.length) return refused(0xcb);
    machine.events = kept;
    return done(...word(id));
  },
  2631: ({ machine, data }) => {
    if (wordAt(data, 0) !== machine.reservation) return refused(0xc5);
    // The first reply is "in progress": clearing takes time.
    if (at(data, 5) === 0xaa) {
      machine.events = [];
      return done(0x00);
    }
    return done(0x01);
  },
  2632: () => done(0, 0, 0, 0x65),
  2592: ({ machine }) => done(0x51, ...word(machine.sensorRecords.length), ...word(0), 0, 0, 0, 0, 0, 0, 0, 0, 0x02),
  2594: ({ machine }) => done(...word(++machine.reservation)),
  2595: ({ machine, faults, data }) => {
    const id = wordAt(data, 2);
    const offset = at(data, 4);
    const index = id === 0 ? 0 : machine.sensorRecords.findIndex((record) => wordAt(record, 0) === id);
    const record = machine.sensorRecords[index];
    if (!record) return refused(0xcb);
    if (offset > 0 && wordAt(data, 0) !== machine.reservation) return refused(0xc5);
    const count = at(data, 5) === 0xff ? record.length - offset : at(data, 5);
    if (count > (faults.largestRead ?? 255)) return refused(0xca);
    const next = machine.sensorRecords[index + 1];
    return done(...(next ? word(wordAt(next, 0)) : word(0xffff)), ...record.subarray(offset, offset + count));
  },
  1069: ({ machine, data }) => {
    const reading = machine.readings.get(at(data, 0));
    return reading === undefined ? refused(0xcb) : done(reading, 0xc0, at(data, 0) === 0x33 ? 0x02 : 0xc0);
  },
  2576: ({ machine, data }) => (at(data, 0) === 0 ? done(...word(machine.fru.length), 0) : refused(0xcb)),
  2577: ({ machine, faults, data }) => {
    const offset = wordAt(data, 1);
    if (at(data, 3) > (faults.largestRead ?? 255)) return refused(0xca);
    const piece = machine.fru.subarray(offset, offset + at(data, 3));
    return done(piece.length, ...piece);
  },
  1604: ({ machine, data }) => {
    const user = machine.users[at(data, 1) - 1];
    return user
      ? done(machine.users.length, (user.enabled ? 0x40 : 0x80) | machine.users.length, 0, 0x10 | user.privilege)
      : refused(0xcc);
  },
  1603: ({ machine, data }) => {
    const user = machine.users[at(data, 1) - 1];
    if (!user) return refused(0xcc);
    user.privilege = at(data, 2) & 0x0f;
    return done();
  },
  1606: ({ machine, data }) => {
    const user = machine.users[at(data, 0) - 1];
    return user ? done(...Buffer.from(user.name.padEnd(16, '\0'), 'latin1')) : refused(0xcc);
  },
  1605: ({ machine, data }) => {
    const user = machine.users[at(data, 0) - 1];
    if (!user) return refused(0xcc);
    user.name = Buffer.from(data.subarray(1)).toString('latin1').replace(/\0+$/, '');
    return done();
  },
  1607: ({ machine, faults, data }) => {
    const user = machine.users[(at(data, 0) & 0x3f) - 1];
    if (!user) return refused(0xcc);
    const password = Buffer.from(data.subarray(2)).toString('latin1').replace(/\0+$/, '');
    const operation = at(data, 1) & 0x03;
    if (operation === 3 && faults.cannotTestPasswords) return refused(0xcc);
    if (operation === 3) return password === user.password ? done() : refused(0x80);
    if (operation !== 2) user.enabled = operation === 1;
    else if (faults.passwordBytes !== 0) user.password = password.slice(0, faults.passwordBytes ?? 20);
    return done();
  },
};
