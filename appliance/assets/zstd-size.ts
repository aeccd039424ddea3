// The size of what a zstd file unpacks to, from its first frame header (RFC 8878 §3.1.1.1):
//
//   magic (4) | descriptor (1) | window (0–1) | dictionary id (0–4) | frame content size (0, 1, 2, 4 or 8)
//
// A file may have more frames, so the result is the least that it unpacks to.

const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;

/** Null: no zstd file, or its header does not say. */
export function zstdContentBytes(head: Uint8Array): number | null {
  const bytes = Buffer.from(head);
  const descriptor = bytes[4];
  if (descriptor === undefined || !bytes.subarray(0, 4).equals(MAGIC)) return null;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionary = DICTIONARY_ID_BYTES[descriptor & 0x03] ?? 0;
  const at = 5 + (isSingleSegment ? 0 : 1) + dictionary;
  const flag = descriptor >> 6;
  if (flag === 0) return isSingleSegment && bytes.length > at ? bytes.readUInt8(at) : null;
  const size = 2 ** flag;
  if (bytes.length < at + size) return null;
  // A size of two bytes is stored less 256.
  if (size === 2) return bytes.readUInt16LE(at) + 256;
  if (size === 4) return bytes.readUInt32LE(at);
  const content = bytes.readBigUInt64LE(at);
  return content <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(content) : null;
}
