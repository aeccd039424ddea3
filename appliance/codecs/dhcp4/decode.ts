// Decodes a DHCP message: RFC 2131 §2, options by RFC 2132 §2, long options by RFC 3396, overloaded fields by RFC 2132 §9.3.
// Strict about the message, lenient about single options: a malformed option is skipped and noted, because the firmware
// that sent it will not send a better one. Values are views into `bytes`.

import { DhcpDecodeError } from './errors.ts';
import type { DhcpMessage } from './message.ts';
import { addressAt, latin1 } from './option-values.ts';
import { OPTION } from './options.ts';
import { AT, BROADCAST_FLAG, CHADDR_BYTES, END, MAGIC_COOKIE, MAX_HOPS, PAD } from './wire.ts';

export function decodeDhcp(bytes: Uint8Array): DhcpMessage {
  if (bytes.length < AT.options) {
    throw new DhcpDecodeError(
      'length',
      bytes.length,
      `a DHCP message needs at least ${AT.options} bytes, got ${bytes.length}`,
    );
  }
  // A Uint8Array even when a Buffer was passed: its views are cheaper, and every value has the same class.
  const packet = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const op = view.getUint8(AT.op);
  const hlen = view.getUint8(AT.hlen);
  const hops = view.getUint8(AT.hops);
  if (op !== 1 && op !== 2) throw new DhcpDecodeError('op', AT.op, `${op} is neither request (1) nor reply (2)`);
  if (hlen > CHADDR_BYTES) throw new DhcpDecodeError('hlen', AT.hlen, `${hlen} is more than the 16 bytes of chaddr`);
  if (hops > MAX_HOPS) throw new DhcpDecodeError('hops', AT.hops, `${hops} hops, the maximum is ${MAX_HOPS}`);
  if (view.getUint32(AT.cookie) !== MAGIC_COOKIE) {
    throw new DhcpDecodeError('magic cookie', AT.cookie, 'not 99.130.83.99: plain BOOTP, or not DHCP');
  }

  const found = new OptionCollector(packet);
  found.collect(AT.options, packet.length, 'options');
  const overload = found.overload;
  if (overload & OVERLOADS_FILE) found.collect(AT.file, AT.cookie, 'file');
  if (overload & OVERLOADS_SNAME) found.collect(AT.sname, AT.file, 'sname');

  const message: DhcpMessage = {
    op: op === 1 ? 'request' : 'reply',
    htype: view.getUint8(AT.htype),
    hlen,
    hops,
    xid: view.getUint32(AT.xid),
    secs: view.getUint16(AT.secs),
    broadcast: (view.getUint16(AT.flags) & BROADCAST_FLAG) !== 0,
    ciaddr: addressAt(packet, AT.ciaddr),
    yiaddr: addressAt(packet, AT.yiaddr),
    siaddr: addressAt(packet, AT.siaddr),
    giaddr: addressAt(packet, AT.giaddr),
    chaddr: packet.subarray(AT.chaddr, AT.sname),
    sname: overload & OVERLOADS_SNAME ? '' : terminatedText(packet, AT.sname, AT.file),
    file: overload & OVERLOADS_FILE ? '' : terminatedText(packet, AT.file, AT.cookie),
    options: found.joined(),
  };
  return found.oddities.length === 0 ? message : { ...message, oddities: found.oddities };
}

/** RFC 2132 §9.3: the value of option 52 as two bits. */
const OVERLOADS_FILE = 1;
const OVERLOADS_SNAME = 2;

type Area = 'options' | 'file' | 'sname';

/** A hostile packet can cause tens of thousands of notes; a person reads the first few. */
const MAX_ODDITIES = 8;

class OptionCollector {
  readonly oddities: string[] = [];
  overload = 0;
  readonly #packet: Uint8Array;
  readonly #options = new Map<number, Uint8Array>();
  /** Only options that occur more than once: all their instances, joined at the end so that the cost stays linear. */
  #instances: Map<number, Uint8Array[]> | null = null;

  constructor(packet: Uint8Array) {
    this.#packet = packet;
  }

  collect(from: number, to: number, area: Area): void {
    const packet = this.#packet;
    let at = from;
    while (at < to) {
      const code = packet[at] ?? END;
      if (code === END) return;
      if (code === PAD) {
        at++;
        continue;
      }
      // The field may end before the packet does: the length byte is read only when it is inside this field.
      const length = at + 1 < to ? (packet[at + 1] ?? 0) : to;
      const next = at + 2 + length;
      if (next > to) {
        this.#note(`option ${code} at byte ${at} extends past the end of the ${area} field: ignored`);
        return;
      }
      const value = packet.subarray(at + 2, next);
      if (code === OPTION.overload) this.#setOverload(value, at, area);
      else this.#add(code, value);
      at = next;
    }
  }

  #add(code: number, value: Uint8Array): void {
    const earlier = this.#options.get(code);
    if (earlier === undefined) {
      this.#options.set(code, value);
      return;
    }
    this.#instances ??= new Map();
    const instances = this.#instances.get(code);
    if (instances === undefined) this.#instances.set(code, [earlier, value]);
    else instances.push(value);
  }

  /** Accepted once and only from the options field: in `file` or `sname` it could make the parser loop. */
  #setOverload(value: Uint8Array, at: number, area: Area): void {
    const bits = value.length === 1 ? (value[0] ?? 0) : 0;
    if (area !== 'options') this.#note(`option 52 at byte ${at}, inside the ${area} field: ignored`);
    else if (bits < 1 || bits > 3) this.#note(`option 52 at byte ${at} is not one of 1, 2, 3: ignored`);
    else if (this.overload !== 0) this.#note(`option 52 at byte ${at} is a duplicate: ignored`);
    else this.overload = bits;
  }

  #note(oddity: string): void {
    if (this.oddities.length < MAX_ODDITIES) this.oddities.push(oddity);
  }

  joined(): ReadonlyMap<number, Uint8Array> {
    for (const [code, instances] of this.#instances ?? []) this.#options.set(code, join(instances));
    return this.#options;
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function terminatedText(packet: Uint8Array, from: number, to: number): string {
  let end = from;
  while (end < to && packet[end] !== 0) end++;
  return end === from ? '' : latin1(packet, from, end);
}
