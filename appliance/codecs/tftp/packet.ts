// TFTP packets as values: RFC 1350 §5, with options (RFC 2347).
//
//   RRQ, WRQ   | 1, 2 | file name 0 | mode 0 | option 0 | value 0 | …
//   DATA       |  3   | block       | payload, shorter than a block only at the end
//   ACK        |  4   | block       |
//   ERROR      |  5   | code        | message 0 |
//   OACK       |  6   | option 0    | value 0 | …

export const OPCODES = { read: 1, write: 2, data: 3, ack: 4, error: 5, optionAck: 6 } as const;

/** RFC 1350 §5; the last one RFC 2347. */
export const TFTP_ERRORS = {
  notDefined: 0,
  fileNotFound: 1,
  accessViolation: 2,
  diskFull: 3,
  illegalOperation: 4,
  unknownTransferId: 5,
  fileExists: 6,
  noSuchUser: 7,
  optionRefused: 8,
} as const;

/** `mail` is obsolete (RFC 1350 §1); it is decoded so that the reply can reject it by name. */
export const TFTP_MODES = ['octet', 'netascii', 'mail'] as const;
export type TftpMode = (typeof TFTP_MODES)[number];

/** In packet order, names in lower case: RFC 2347 names are case-insensitive. */
export type TftpOptions = ReadonlyMap<string, string>;

export interface TftpRequest {
  readonly op: 'read' | 'write';
  /** As sent: untrusted text, sanitized before use. */
  readonly fileName: string;
  readonly mode: TftpMode;
  readonly options: TftpOptions;
}

export type TftpPacket =
  | TftpRequest
  | { readonly op: 'data'; readonly block: number; readonly payload: Uint8Array }
  | { readonly op: 'ack'; readonly block: number }
  | { readonly op: 'error'; readonly code: number; readonly message: string }
  | { readonly op: 'optionAck'; readonly options: TftpOptions };
