// IPMI v2.0 §22.15.2, table 22-20: the two cipher suites that both authenticate and encrypt. Suite 0 needs no password
// and suites 1 and 2 do not encrypt; none of them is supported.

import { ByteReader } from './bytes.ts';

export interface CipherSuite {
  readonly id: 3 | 17;
  readonly hash: 'sha1' | 'sha256';
  /** Algorithm numbers of tables 13-17, 13-18 and 13-19. */
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** The full hash, used in RAKP 2 and 3. */
  readonly keyExchangeBytes: number;
  /** The truncated hash, used in RAKP 4 and in every packet. */
  readonly integrityBytes: number;
}

export const SUITE_3: CipherSuite = {
  id: 3,
  hash: 'sha1',
  authentication: 0x01,
  integrity: 0x01,
  confidentiality: 0x01,
  keyExchangeBytes: 20,
  integrityBytes: 12,
};

export const SUITE_17: CipherSuite = {
  id: 17,
  hash: 'sha256',
  authentication: 0x03,
  integrity: 0x04,
  confidentiality: 0x01,
  keyExchangeBytes: 32,
  integrityBytes: 16,
};

const STANDARD_RECORD = 0xc0;
const OEM_RECORD = 0xc1;

/** The ids in the records of Get Channel Cipher Suites (§22.15.1), its 16-byte pieces joined. OEM suites are skipped. */
export function decodeCipherSuiteIds(records: Uint8Array): number[] {
  const ids: number[] = [];
  const reader = new ByteReader(records);
  while (reader.remaining > 0) {
    const start = reader.uint8('cipher suite record');
    if (start === STANDARD_RECORD) ids.push(reader.uint8('cipher suite id'));
    else if (start === OEM_RECORD) reader.bytes(4, 'OEM cipher suite');
    // Any other byte is an algorithm of the preceding record: its two upper bits are the kind, the lower ones the number.
  }
  return ids;
}
