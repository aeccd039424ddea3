// Asks many addresses whether a BMC speaks IPMI there, through one socket and without logging in: the presence ping of RMCP, and
// the one question that every BMC answers to strangers.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { getChannelAuthentication } from '../../codecs/ipmi/commands/session-commands.ts';
import { COMPLETED } from '../../codecs/ipmi/completion-code.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeReply, encodeRequest } from '../../codecs/ipmi/message.ts';
import { decodePacket, encodeSessionless } from '../../codecs/ipmi/packet.ts';
import { encodePing } from '../../codecs/ipmi/rmcp.ts';
import type { BmcClock } from '../clock.ts';

export interface IpmiPresence {
  /** False: IPMI 1.5 only, whose sessions protect nothing. Null: it did not say. */
  readonly ipmi2: boolean | null;
}

export interface IpmiProber {
  /** Null: nobody there who speaks IPMI, or closed meanwhile. Never rejects. */
  probe(address: string): Promise<IpmiPresence | null>;
  close(): void;
}

export interface ProbeTimings {
  readonly tries: number;
  readonly wait: number;
}

interface Listener {
  readonly hears: (bytes: Uint8Array) => void;
  readonly giveUp: () => void;
}

const QUESTION = getChannelAuthentication('administrator', true);
const PING_TAG = 0x2a;

export async function ipmiProber(port: number, clock: BmcClock, { tries, wait }: ProbeTimings): Promise<IpmiProber> {
  const listening = new Map<string, Listener>();
  const socket = createSocket('udp4');
  // A route that is missing is an address without a BMC.
  socket.on('error', () => undefined);
  socket.on('message', (bytes, from) => {
    if (from.port === port) listening.get(from.address)?.hears(bytes);
  });
  socket.bind(0);
  await once(socket, 'listening');
  const send = (bytes: Uint8Array, address: string): void => socket.send(bytes, port, address, () => undefined);

  const probe = (address: string): Promise<IpmiPresence | null> =>
    new Promise((resolve) => {
      let tried = 0;
      let ponged = false;
      let cancel = (): void => undefined;
      const finish = (presence: IpmiPresence | null): void => {
        cancel();
        listening.delete(address);
        resolve(presence);
      };
      const ask = (): void => {
        if (tried === tries) {
          finish(ponged ? { ipmi2: null } : null);
          return;
        }
        tried += 1;
        send(encodePing(PING_TAG), address);
        send(encodeSessionless(encodeRequest({ ...QUESTION, sequence: 0 })), address);
        cancel = clock.wakeAt(clock.now() + wait, ask);
      };
      const hears = (bytes: Uint8Array): void => {
        const heard = understood(bytes);
        if (heard === 'pong') ponged = true;
        else if (heard) finish(heard);
      };
      listening.set(address, { hears, giveUp: () => finish(null) });
      ask();
    });
  const close = (): void => {
    for (const { giveUp } of [...listening.values()]) giveUp();
    socket.close();
  };
  return { probe, close };
}

/** Null: nothing that a BMC says to a stranger. */
function understood(bytes: Uint8Array): 'pong' | IpmiPresence | null {
  try {
    const packet = decodePacket(bytes);
    // Intel AMT answers the ping too, and speaks no IPMI.
    if (packet.kind === 'pong') return packet.tag === PING_TAG && packet.ipmi ? 'pong' : null;
    if (packet.kind !== 'sessionless') return null;
    const reply = decodeReply(packet.message);
    if (reply.command !== QUESTION.command || reply.netFn !== QUESTION.netFn) return null;
    return { ipmi2: reply.completionCode === COMPLETED ? QUESTION.decode(reply.data).ipmi2 : null };
  } catch (error) {
    if (error instanceof IpmiDecodeError) return null;
    throw error;
  }
}
