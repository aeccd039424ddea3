// What the server knows about the client of a transfer that may run in another thread: in shared memory, without messages.

/** Time of the client's last packet, and whether it has acknowledged anything. */
const FIELDS = { lastPacketAt: 0, isAnswered: 1 } as const;

export class TransferActivity {
  readonly memory: Float64Array;

  constructor(memory: Float64Array = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT))) {
    this.memory = memory;
  }

  /** By the clock of the transfer's thread. A repeated request does not count. */
  get lastPacketAt(): number {
    return this.memory[FIELDS.lastPacketAt] ?? 0;
  }

  set lastPacketAt(at: number) {
    this.memory[FIELDS.lastPacketAt] = at;
  }

  get isAnswered(): boolean {
    return this.memory[FIELDS.isAnswered] === 1;
  }

  noteAnswered(): void {
    this.memory[FIELDS.isAnswered] = 1;
  }
}
