// A TFTP reader as the RFCs describe it, which shares only the packet codec with the server.

import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import type { TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';
import { Alarm, type VirtualTime } from './tftp-transfer-virtual-time.ts';

export interface ClientManner {
  readonly mode: 'octet' | 'netascii';
  readonly options: Readonly<Record<string, string>>;
  readonly rolloverTo: 0 | 1;
  /** EDK2 acknowledges every unexpected block; others only blocks that they already have, and a gap once. */
  readonly eager: boolean;
  /** Repeats its last ACK on timeout, as EDK2 does; GRUB leaves that to the server. */
  readonly repeatsAcks: boolean;
  /** Acknowledges a repeated block once, as atftp does, and then only after 5 seconds without any packet. */
  readonly deaf?: boolean;
}

const PATIENCE_MS = 2500;
const DEAF_PATIENCE_MS = 5000;

export class ModelClient {
  readonly #manner: ClientManner;
  readonly #patience: Alarm;
  readonly #send: (bytes: Uint8Array) => void;
  readonly #payloads: Uint8Array[] = [];
  #blockSize = 512;
  #windowSize = 1;
  #lastWire = 0;
  #sinceAck = 0;
  #gapReported = false;
  #repeatAnswered = false;
  #done = false;

  constructor(manner: ClientManner, time: VirtualTime, send: (bytes: Uint8Array) => void) {
    this.#manner = manner;
    this.#patience = new Alarm(time);
    this.#send = send;
  }

  /** The file, when it is complete. */
  get received(): Buffer | null {
    return this.#done ? Buffer.concat(this.#payloads) : null;
  }

  request(): void {
    const { mode, options } = this.#manner;
    this.#send(encodeTftp({ op: 'read', fileName: 'file', mode, options: new Map(Object.entries(options)) }));
    this.#patience.set(PATIENCE_MS, () => this.request());
  }

  onPacket(bytes: Uint8Array): void {
    const packet = decodeTftp(bytes);
    if (packet.op === 'optionAck') this.#onOptions(packet);
    if (packet.op === 'data') this.#onData(packet);
  }

  #onOptions({ options }: Extract<TftpPacket, { op: 'optionAck' }>): void {
    if (this.#payloads.length > 0) return;
    this.#blockSize = Number(options.get('blksize') ?? 512);
    this.#windowSize = Number(options.get('windowsize') ?? 1);
    this.#acknowledge();
  }

  #onData({ block, payload }: Extract<TftpPacket, { op: 'data' }>): void {
    const expected = this.#lastWire === 65_535 ? this.#manner.rolloverTo : this.#lastWire + 1;
    if (this.#done || block !== expected) {
      if (this.#manner.deaf && this.#repeatAnswered) {
        this.#waitForMore();
        return;
      }
      this.#repeatAnswered = true;
      const ahead = !this.#done && ((block - expected) & 0xffff) < 0x8000;
      if (this.#manner.eager || !ahead || !this.#gapReported) this.#acknowledge();
      this.#gapReported = ahead;
      return;
    }
    this.#lastWire = block;
    this.#payloads.push(payload);
    this.#sinceAck += 1;
    this.#gapReported = false;
    this.#repeatAnswered = false;
    this.#done = payload.length < this.#blockSize;
    if (this.#done || this.#sinceAck >= this.#windowSize) this.#acknowledge();
    else this.#waitForMore();
  }

  #acknowledge(): void {
    this.#sinceAck = 0;
    this.#send(encodeTftp({ op: 'ack', block: this.#lastWire }));
    this.#waitForMore();
  }

  #waitForMore(): void {
    const patience = this.#manner.deaf ? DEAF_PATIENCE_MS : PATIENCE_MS;
    if (this.#manner.repeatsAcks && !this.#done) this.#patience.set(patience, () => this.#acknowledge());
    else this.#patience.stop();
  }
}
