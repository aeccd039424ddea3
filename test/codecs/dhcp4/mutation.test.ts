import { expect, test } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { describeDhcp, summarizeDhcp } from '../../../appliance/codecs/dhcp4/describe.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { DhcpDecodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import { INPUTS } from '../../attack-tally.ts';
import { dhcpPackets } from './captured-packets.ts';
import { dice } from './mutants.ts';

const MUTANTS = INPUTS.dhcpDecoder;
/** Describing and encoding cost far more than decoding: only one mutant in this many is also described and encoded. */
const ALL_THE_WAY = 25;
const SEED = 0x2131;

/** Significant bytes: PAD, END, 52, 82, 43, 175, and boundary lengths. */
const TELLING = [0, 1, 2, 3, 43, 52, 67, 77, 82, 97, 127, 128, 175, 254, 255];

test('a million mutated captures decode or raise a decode error', ({ task }) => {
  const below = dice(SEED);
  const originals = dhcpPackets();
  const seen = { decoded: 0, refused: 0, printed: 0, encoded: 0, odd: 0 };

  for (let mutant = 0; mutant < MUTANTS; mutant++) {
    const original = originals[below(originals.length)] ?? new Uint8Array();
    const cut = below(8) === 0 ? below(original.length) : 0;
    const packet = original.slice(0, original.length - cut);
    // Mostly in the options, which are structured; sometimes anywhere.
    for (let changes = 1 + below(6); changes > 0; changes--) {
      const at = below(4) === 0 ? below(packet.length) : 240 + below(Math.max(1, packet.length - 240));
      packet[at] = below(2) === 0 ? below(256) : (TELLING[below(TELLING.length)] ?? 0);
    }
    try {
      const message = decodeDhcp(packet);
      seen.decoded++;
      if (message.oddities) seen.odd++;
      if (mutant % ALL_THE_WAY !== 0) continue;
      seen.printed +=
        /^[\x20-\x7e\n]+$/.test(describeDhcp(message)) && /^[\x20-\x7e]+$/.test(summarizeDhcp(message)) ? 1 : 0;
      encodeDhcp(message, { maxBytes: 1472 });
      seen.encoded++;
    } catch (error) {
      if (!(error instanceof DhcpDecodeError)) throw error;
      seen.refused++;
    }
  }

  task.meta.inputs = seen.decoded + seen.refused;
  expect(task.meta.inputs).toBe(MUTANTS);
  expect(seen.refused).toBeGreaterThan(MUTANTS / 100);
  expect(seen.odd).toBeGreaterThan(MUTANTS / 10);
  expect(seen.printed).toBeGreaterThan(MUTANTS / ALL_THE_WAY / 2);
  expect(seen.encoded).toBe(seen.printed);
});
