// Arbitrary TFTP packets, for property tests.

import fc from 'fast-check';
import { TFTP_MODES, type TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';

const uint16 = fc.integer({ min: 0, max: 0xffff });
const text = (maxLength: number) => fc.string({ unit: 'grapheme', maxLength }).filter((value) => !value.includes('\0'));

const options = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z][a-z0-9]{0,15}$/), fc.stringMatching(/^[ -~]{0,20}$/)), {
    selector: ([name]) => name,
    maxLength: 16,
  })
  .map((pairs) => new Map(pairs));

export const anyRequest: fc.Arbitrary<TftpPacket> = fc.record({
  op: fc.constantFrom('read', 'write'),
  fileName: text(20),
  mode: fc.constantFrom(...TFTP_MODES),
  options,
});

export const anyPacket: fc.Arbitrary<TftpPacket> = fc.oneof(
  anyRequest,
  fc.record({ op: fc.constant('data'), block: uint16, payload: fc.uint8Array({ maxLength: 600 }) }),
  fc.record({ op: fc.constant('ack'), block: uint16 }),
  fc.record({ op: fc.constant('error'), code: uint16, message: text(10) }),
  fc.record({ op: fc.constant('optionAck'), options }),
);
