// A TPM that answers with bytes that mean nothing: to every command, or to all but those with which firmware and kernels
// recognize and use a TPM. QEMU uses it like a TPM device of the host.

import type { Duplex } from 'node:stream';

/**
 * TPM 2.0 Library Part 2 §6.5 (TPM_CC): Clear, SelfTest, Startup, Shutdown, HierarchyControl, HierarchyChangeAuth, StirRandom,
 * GetCapability, GetRandom, PCR_Read, ReadClock, PCR_Extend.
 */
const HARMLESS = [0x126, 0x143, 0x144, 0x145, 0x121, 0x129, 0x146, 0x17a, 0x17b, 0x17e, 0x181, 0x182];
/** Tag, size, and the code of the command or of the response. */
const HEADER_BYTES = 10;
/** TPM_ST_NO_SESSIONS, a size of ten bytes, and success. */
const EMPTY_SUCCESS = Buffer.from('80010000000a00000000', 'hex');

/** `real`: the TPM that answers the harmless commands; null: all answers are garbage. */
export function answerGarbage(machine: Duplex, real: Duplex | null): void {
  let answered = 0;
  eachMessage(machine, (command) => {
    if (real !== null && HARMLESS.includes(command.readUInt32BE(6))) return void real.write(command);
    // QEMU starts only with a device whose first answer has the header of a TPM 2.0.
    machine.write(real === null && answered === 0 ? EMPTY_SUCCESS : garbageAnswer(answered));
    answered += 1;
  });
  if (real !== null) eachMessage(real, (response) => void machine.write(response));
  // Either side goes off without a word.
  for (const side of [machine, real]) side?.on('error', () => {});
  machine.once('close', () => real?.destroy());
}

/** QEMU replaces an answer that has another length than its header says. This has the right length, and nothing else is right. */
export function garbageAnswer(number: number): Buffer {
  const length = 24 + (number % 40);
  const answer = Buffer.from(Array.from({ length }, (_, at) => (at * 89 + number * 31 + 0x5a) & 0xff));
  answer.writeUInt32BE(length, 2);
  return answer;
}

/** Commands and responses have the same header. */
function eachMessage(stream: Duplex, handle: (message: Buffer) => void): void {
  let received = Buffer.alloc(0);
  stream.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= HEADER_BYTES) {
      const size = Math.max(HEADER_BYTES, received.readUInt32BE(2));
      if (received.length < size) return;
      const message = received.subarray(0, size);
      received = received.subarray(size);
      handle(message);
    }
  });
}
