// RFC 2131 §2: the fixed part of a message, and where the options begin.
//
//      0               1               2               3
//     +---------------+---------------+---------------+---------------+
//   0 |      op       |     htype     |     hlen      |     hops      |
//   4 |                              xid                              |
//   8 |             secs              |             flags             |
//  12 |      ciaddr · yiaddr · siaddr · giaddr, four bytes each       |
//  28 |                       chaddr, 16 bytes                        |
//  44 |                       sname, 64 bytes                         |
// 108 |                       file, 128 bytes                         |
// 236 |        magic cookie           |  options until the end …      |
//     +---------------+---------------+---------------+---------------+

export const AT = {
  op: 0,
  htype: 1,
  hlen: 2,
  hops: 3,
  xid: 4,
  secs: 8,
  flags: 10,
  ciaddr: 12,
  yiaddr: 16,
  siaddr: 20,
  giaddr: 24,
  chaddr: 28,
  sname: 44,
  file: 108,
  cookie: 236,
  options: 240,
} as const;

export const CHADDR_BYTES = AT.sname - AT.chaddr;
export const SNAME_BYTES = AT.file - AT.sname;
export const FILE_BYTES = AT.cookie - AT.file;

/** RFC 2131 §3: 99, 130, 83, 99. */
export const MAGIC_COOKIE = 0x63825363;
export const BROADCAST_FLAG = 0x8000;
/** RFC 1542 §4.1.1: relays discard messages with more than 16 hops, so a valid message never has more. */
export const MAX_HOPS = 16;

export const PAD = 0;
export const END = 255;
/** RFC 3396 §4: the largest value of one instance of an option. */
export const MAX_INSTANCE_BYTES = 255;
