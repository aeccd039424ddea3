// The machine's FRU inventory: the vendor's description of the hardware.

import { type FruSize, getFruSize, readFru } from '../../codecs/ipmi/commands/fru-storage.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeFru, decodeFruHeader, FRU_HEADER_BYTES, type FruInventory } from '../../codecs/ipmi/fru-areas.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

/** The FRU device that describes the machine itself. */
const BUILT_IN = 0;
const LARGEST_PIECE = 16;
const SMALLEST_PIECE = 4;
const AREA_UNIT = 8;

/** Null: the BMC has no FRU inventory. */
export async function readHardware(bmc: IpmiCaller): Promise<FruInventory | null> {
  let size: FruSize;
  try {
    size = await bmc.call(getFruSize(BUILT_IN));
  } catch (error) {
    if (wasRefusedWith(error, COMPLETION.notPresent, COMPLETION.invalidCommand, COMPLETION.invalidField)) return null;
    throw error;
  }
  const bytes = new Uint8Array(size.bytes);
  const reader = new FruReader(bmc, size, bytes);
  try {
    await reader.read(0, FRU_HEADER_BYTES);
    const { chassisAt, boardAt, productAt } = decodeFruHeader(bytes);
    for (const at of [chassisAt, boardAt, productAt].filter((offset) => offset > 0)) {
      await reader.read(at, AREA_UNIT);
      await reader.read(at + AREA_UNIT, ((bytes[at + 1] ?? 1) - 1) * AREA_UNIT);
    }
    return decodeFru(bytes);
  } catch (error) {
    if (error instanceof IpmiDecodeError) throw new IpmiError('malformed', `FRU: ${error.message}`);
    throw error;
  }
}

/** Reads the requested ranges, in chunks of a size that this BMC can send. */
class FruReader {
  readonly #bmc: IpmiCaller;
  readonly #unit: number;
  readonly #into: Uint8Array;
  #piece = LARGEST_PIECE;

  constructor(bmc: IpmiCaller, size: FruSize, into: Uint8Array) {
    this.#bmc = bmc;
    this.#unit = size.inWords ? 2 : 1;
    this.#into = into;
  }

  async read(from: number, length: number): Promise<void> {
    const end = Math.min(from + length, this.#into.length);
    for (let at = from; at < end; ) {
      const count = Math.min(this.#piece, end - at);
      try {
        const piece = await this.#bmc.call(readFru(BUILT_IN, at / this.#unit, Math.ceil(count / this.#unit)));
        if (piece.length === 0) throw new IpmiError('malformed', `FRU ends after ${at} of ${this.#into.length} bytes`);
        this.#into.set(piece.subarray(0, this.#into.length - at), at);
        at += piece.length;
      } catch (error) {
        const tooMuch = wasRefusedWith(error, COMPLETION.cannotReturnThatMany, COMPLETION.unspecified);
        if (!tooMuch || this.#piece <= SMALLEST_PIECE) throw error;
        this.#piece /= 2;
      }
    }
  }
}
