// The only two ways in which this codec fails. Both name the field, so that a log line says which part of whose packet.

/** These bytes are not what they claim to be, or not what the session's keys vouch for. */
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

/** This value has no wire form: a mistake of the caller, never of the BMC. */
export class IpmiEncodeError extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`);
    this.name = 'IpmiEncodeError';
    this.field = field;
  }
}
