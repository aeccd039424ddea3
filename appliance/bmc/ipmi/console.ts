// The machine's serial console through its BMC, as a byte stream in both directions.

import {
  activateConsole,
  CONSOLE_IN_USE,
  type ConsoleActivation,
  deactivateConsole,
} from '../../codecs/ipmi/commands/console-payload.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeSol } from '../../codecs/ipmi/sol-packet.ts';
import { SECOND } from '../../domain/instant.ts';
import type { BmcConsole } from '../bmc.ts';
import type { IpmiConnection } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { ReceivedOutput } from './received-output.ts';
import { unlessRefused, wasRefusedWith } from './refusal.ts';
import { DEACTIVATED, type SolReaction, SolStream, type SolTimings } from './sol-stream.ts';

/** Six minutes of output on a serial line; a viewer that is further behind is not reading. */
const MOST_UNREAD = 4 * 1024 * 1024;

const SOL_TIMINGS: SolTimings = { repeatAfter: SECOND, tries: 10 };

export interface ConsoleOptions {
  /** Ends the console session of another client; without it a console in use is a refusal. */
  readonly steal: boolean;
}

/** The session stays open after the console is closed. */
export async function openConsole(connection: IpmiConnection, options: ConsoleOptions): Promise<BmcConsole> {
  const { inboundBytes } = await activate(connection, options);
  return new ConsoleStream(connection, new SolStream(inboundBytes, SOL_TIMINGS));
}

async function activate(connection: IpmiConnection, { steal }: ConsoleOptions): Promise<ConsoleActivation> {
  try {
    return await connection.call(activateConsole());
  } catch (error) {
    if (!(error instanceof IpmiError) || !wasRefusedWith(error, CONSOLE_IN_USE)) throw error;
    if (!steal) throw new IpmiError('console-taken', error.message, { completionCode: CONSOLE_IN_USE });
    await unlessRefused(connection.call(deactivateConsole()));
    return connection.call(activateConsole());
  }
}

class ConsoleStream implements BmcConsole {
  readonly #connection: IpmiConnection;
  readonly #stream: SolStream;
  readonly #output = new ReceivedOutput(MOST_UNREAD);
  #cancelWake: () => void = () => undefined;

  constructor(connection: IpmiConnection, stream: SolStream) {
    this.#connection = connection;
    this.#stream = stream;
    connection.onConsole((payload) => this.#onPayload(payload));
    void connection.ended.then((error) => this.#finish(error));
  }

  write(characters: Uint8Array): void {
    if (!this.#output.ended) this.#apply(this.#stream.type(characters, this.#connection.clock.now()));
  }

  async close(): Promise<void> {
    if (this.#output.ended) return;
    this.#finish(null);
    try {
      await this.#connection.call(deactivateConsole());
    } catch (error) {
      // The BMC frees the console by itself soon.
      if (!(error instanceof IpmiError)) throw error;
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#output[Symbol.asyncIterator]();
  }

  #onPayload(payload: Uint8Array): void {
    if (this.#output.ended) return;
    try {
      this.#apply(this.#stream.receive(decodeSol(payload), this.#connection.clock.now()));
    } catch (error) {
      // Authentic but too short: the BMC retransmits what matters.
      if (!(error instanceof IpmiDecodeError)) throw error;
    }
  }

  #apply(reaction: SolReaction): void {
    for (const payload of reaction.send) this.#connection.sendConsole(payload);
    if (reaction.deliver.length > 0 && !this.#output.push(reaction.deliver)) this.#abandon();
    this.#cancelWake();
    const { clock } = this.#connection;
    if (this.#stream.wakeAt !== null) {
      this.#cancelWake = clock.wakeAt(this.#stream.wakeAt, () => this.#apply(this.#stream.wake(clock.now())));
    }
    if (reaction.ended === null) return;
    this.#finish(new IpmiError(reaction.ended === DEACTIVATED ? 'console-taken' : 'vanished', reaction.ended));
  }

  /** The reader may never return to see the error: ends the session, so that the BMC has no one to send to. */
  #abandon(): void {
    this.#finish(new IpmiError('closed', 'the console was closed because its client does not read the output'));
    void this.#connection.close();
  }

  #finish(error: IpmiError | null): void {
    this.#cancelWake();
    this.#output.end(error);
  }
}
