// The only two errors of this codec. Both name the field, so that a log line shows which part of the packet is wrong.

/** The bytes are not a DHCP message. */
export class DhcpDecodeError extends Error {
  readonly field: string;
  readonly offset: number;

  constructor(field: string, offset: number, reason: string) {
    super(`${field} at byte ${offset}: ${reason}`);
    this.name = 'DhcpDecodeError';
    this.field = field;
    this.offset = offset;
  }
}

/** This value cannot be encoded: a mistake of the caller, never of the peer. */
export class DhcpEncodeError extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'DhcpEncodeError';
    this.field = field;
  }
}
