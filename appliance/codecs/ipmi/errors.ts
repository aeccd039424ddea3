// The only two errors of this codec. Both name the field, so that a log line shows which part of the packet is wrong.

/** The bytes are malformed, or fail verification with the session's keys. */
export class IpmiDecodeError extends Error {
  readonly field: string;
  readonly offset: number;

  constructor(field: string, offset: number, reason: string) {
    super(`${field} at byte ${offset}: ${reason}`);
    this.name = 'IpmiDecodeError';
    this.field = field;
    this.offset = offset;
  }
}

/** This value cannot be encoded: a mistake of the caller, never of the BMC. */
export class IpmiEncodeError extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'IpmiEncodeError';
    this.field = field;
  }
}
