// Probes many addresses for IPMI, through one socket and without a login: the presence ping of RMCP, and Get Channel
// Authentication Capabilities, which every BMC answers without a session.

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
  /** False: IPMI 1.5 only, whose sessions have no protection. Null: unknown. */
  readonly ipmi2: boolean | null;
}

export interface IpmiProber {
  /** Null: no IPMI reply, or closed meanwhile. Never rejects. */
  probe(address: string): Promise<IpmiPresence | null>;
  close(): void;
}

export interface ProbeTimings {
  readonly tries: number;
  readonly wait: number;
}

interface PendingProbe {
  readonly receive: (bytes: Uint8Array) => void;
  readonly cancel: () => void;
}

const PROBE = getChannelAuthentication('administrator', true);
const PING_TAG = 0x2a;

export async function ipmiProber(port: number, clock: BmcClock, { tries, wait }: ProbeTimings): Promise<IpmiProber> {
  const pending = new Map<string, PendingProbe>();
  const socket = createSocket('udp4');
  // A missing route means: no BMC at that address.
  socket.on('error', () => undefined);
  socket.on('message', (bytes, from) => {
    if (from.port === port) pending.get(from.address)?.receive(bytes);
  });
  socket.bind(0);
  await once(socket, 'listening');
  const send = (bytes: Uint8Array, address: string): void => socket.send(bytes, port, address, () => undefined);

  const probe = (address: string): Promise<IpmiPresence | null> =>
    new Promise((resolve) => {
      let tried = 0;
      let ponged = false;
      let cancelTimer = (): void => undefined;
      const finish = (presence: IpmiPresence | null): void => {
        cancelTimer();
        pending.delete(address);
        resolve(presence);
      };
      const transmit = (): void => {
        if (tried === tries) {
          finish(ponged ? { ipmi2: null } : null);
          return;
        }
        tried += 1;
        send(encodePing(PING_TAG), address);
        send(encodeSessionless(encodeRequest({ ...PROBE, sequence: 0 })), address);
        cancelTimer = clock.wakeAt(clock.now() + wait, transmit);
      };
      const receive = (bytes: Uint8Array): void => {
        const reply = decodeProbeReply(bytes);
        if (reply === 'pong') ponged = true;
        else if (reply) finish(reply);
      };
      pending.set(address, { receive, cancel: () => finish(null) });
      transmit();
    });
  const close = (): void => {
    for (const { cancel } of [...pending.values()]) cancel();
    socket.close();
  };
  return { probe, close };
}

/** Null: not a reply to a probe. */
function decodeProbeReply(bytes: Uint8Array): 'pong' | IpmiPresence | null {
  try {
    const packet = decodePacket(bytes);
    // Intel AMT replies to the ping too, without IPMI support.
    if (packet.kind === 'pong') return packet.tag === PING_TAG && packet.ipmi ? 'pong' : null;
    if (packet.kind !== 'sessionless') return null;
    const reply = decodeReply(packet.message);
    if (reply.command !== PROBE.command || reply.netFn !== PROBE.netFn) return null;
    return { ipmi2: reply.completionCode === COMPLETED ? PROBE.decode(reply.data).ipmi2 : null };
  } catch (error) {
    if (error instanceof IpmiDecodeError) return null;
    throw error;
  }
}
