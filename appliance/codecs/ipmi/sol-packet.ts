// IPMI v2.0 §15.9: serial-over-LAN payloads.
//
//   | packet number | acknowledged number | accepted characters | operation or status | characters … |
//
// A packet with number 0 has no characters and is not acknowledged.

import { ByteReader, concatBytes } from './bytes.ts';

/** Packet numbers run from 1 to 15 and wrap. */
export const LAST_PACKET_NUMBER = 15;

const NOT_ACCEPTED = 0x40;
const BREAK = 0x10;
const UNAVAILABLE = 0x20;
const DEACTIVATING = 0x10;
const OVERRUN = 0x08;

export interface SolFromConsole {
  readonly number: number;
  readonly acknowledges: number;
  readonly accepted: number;
  readonly break: boolean;
  readonly characters: Uint8Array;
}

export interface SolFromBmc {
  readonly number: number;
  readonly acknowledges: number;
  readonly accepted: number;
  /** NACK: the BMC did not accept the packet that this one acknowledges. */
  readonly refused: boolean;
  readonly unavailable: boolean;
  readonly deactivating: boolean;
  readonly overrun: boolean;
  readonly characters: Uint8Array;
}

export const encodeSol = (packet: SolFromConsole): Uint8Array =>
  concatBytes(
    Uint8Array.of(packet.number, packet.acknowledges, packet.accepted, packet.break ? BREAK : 0),
    packet.characters,
  );

export function decodeSol(payload: Uint8Array): SolFromBmc {
  const reader = new ByteReader(payload);
  const number = reader.uint8('packet number') & 0x0f;
  const acknowledges = reader.uint8('acknowledged packet number') & 0x0f;
  const accepted = reader.uint8('accepted characters');
  const status = reader.uint8('status');
  return {
    number,
    acknowledges,
    accepted,
    refused: (status & NOT_ACCEPTED) !== 0,
    unavailable: (status & UNAVAILABLE) !== 0,
    deactivating: (status & DEACTIVATING) !== 0,
    overrun: (status & OVERRUN) !== 0,
    characters: reader.rest(),
  };
}
