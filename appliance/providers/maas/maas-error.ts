// How a request to MAAS fails: it cannot be answered now, or it is rejected.

/** MAAS did not answer, or could not do it now. A write may have been done all the same: read before it is repeated. */
export class MaasUnavailable extends Error {
  override readonly name = 'MaasUnavailable';
}

/** MAAS refuses: repeating the same request does not help. */
export class MaasRejected extends Error {
  override readonly name = 'MaasRejected';
  readonly status: number;
  /** The fields that MAAS names; empty: it names none. */
  readonly fields: readonly string[];

  constructor(status: number, message: string, fields: readonly string[] = []) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}
