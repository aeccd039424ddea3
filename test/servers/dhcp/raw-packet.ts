// Parses a DHCP packet by RFC 2131 §2 alone, without our own codec, to verify what our codec wrote.

export interface RawPacket {
  readonly length: number;
  readonly op: number;
  readonly hops: number;
  readonly xid: number;
  readonly flags: number;
  readonly ciaddr: string;
  readonly yiaddr: string;
  readonly siaddr: string;
  readonly giaddr: string;
  readonly mac: string;
  readonly file: string;
  /** In packet order. */
  readonly options: readonly (readonly [code: number, value: Buffer])[];
}

const OPTIONS_AT = 240;
const PAD = 0;
const END = 255;

const dotted = (bytes: Uint8Array): string => bytes.join('.');

export function readRaw(bytes: Uint8Array): RawPacket {
  const raw = Buffer.from(bytes);
  return {
    length: raw.length,
    op: raw.readUInt8(0),
    hops: raw.readUInt8(3),
    xid: raw.readUInt32BE(4),
    flags: raw.readUInt16BE(10),
    ciaddr: dotted(raw.subarray(12, 16)),
    yiaddr: dotted(raw.subarray(16, 20)),
    siaddr: dotted(raw.subarray(20, 24)),
    giaddr: dotted(raw.subarray(24, 28)),
    mac: raw.toString('hex', 28, 34).replace(/(?<=.)(?=(?:..)+$)/g, ':'),
    file: raw.toString('latin1', 108, 236).replace(/\0.*$/s, ''),
    options: rawOptions(raw),
  };
}

/** Throws if an option exceeds the packet, END is missing, or anything but padding follows it. */
function rawOptions(raw: Buffer): [number, Buffer][] {
  const options: [number, Buffer][] = [];
  const end = endOfOptions(raw, (code, value) => void options.push([code, value]));
  if (raw.subarray(end + 1).some((byte) => byte !== PAD)) throw new Error(`there is more after byte ${end}, the END`);
  return options;
}

function endOfOptions(raw: Buffer, onOption: (code: number, value: Buffer) => void): number {
  let at = OPTIONS_AT;
  while (raw.readUInt8(at) !== END) {
    const code = raw.readUInt8(at);
    if (code === PAD) {
      at++;
      continue;
    }
    const next = at + 2 + raw.readUInt8(at + 1);
    if (next > raw.length) throw new Error(`option ${code} at byte ${at} passes the end`);
    onOption(code, raw.subarray(at + 2, next));
    at = next;
  }
  return at;
}

export const optionOf = ({ options }: RawPacket, number: number): Buffer | undefined =>
  options.find(([code]) => code === number)?.[1];

export const textOf = (packet: RawPacket, code: number): string | undefined =>
  optionOf(packet, code)?.toString('latin1').replace(/\0$/, '');

export const addressOf = (packet: RawPacket, code: number): string | undefined => {
  const value = optionOf(packet, code);
  return value && dotted(value);
};

/** The same request for another address: option 50 overwritten, as a client names the offered address. */
export function askingFor(bytes: Uint8Array, address: string): Uint8Array {
  const raw = Buffer.from(bytes);
  endOfOptions(raw, (code, value) => {
    if (code === 50) value.set(address.split('.').map(Number));
  });
  return raw;
}

/** RFC 1542 §4.1.1, RFC 3046 §2.1: as a relay forwards it, with its own option after the others. */
export function relayed(bytes: Uint8Array, giaddr: string, relayOption: Uint8Array): Uint8Array {
  const raw = Buffer.from(bytes);
  const end = endOfOptions(raw, () => {});
  raw.writeUInt8(1, 3);
  raw.set(giaddr.split('.').map(Number), 24);
  return Buffer.concat([raw.subarray(0, end), Buffer.of(82, relayOption.length), relayOption, Buffer.of(END)]);
}
