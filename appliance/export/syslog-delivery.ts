// Syslog over UDP (RFC 5426), TCP (RFC 6587) and TLS (RFC 5425).
//
// Syslog has no acknowledgement, and a write to a socket only says that the kernel has it. So each batch gets its own connection: we
// close our side, and the receiver closes its side after it has read everything. A receiver that dies before sends a reset instead.

import { createSocket } from 'node:dgram';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SECOND } from '../domain/instant.ts';
import type { ExportMessage } from './message.ts';
import { type Delivery, type Outcome, unavailable } from './outcome.ts';
import type { SyslogSettings } from './settings.ts';
import { framed, syslogMessage } from './syslog-message.ts';

const TIME_LIMIT = 15 * SECOND;

export function syslogDelivery(settings: SyslogSettings, host: string): Delivery {
  const { facility, transport } = settings;
  const encoded = (messages: readonly ExportMessage[]): Buffer[] =>
    messages.map((message) => syslogMessage(message, { facility, host }, transport === 'udp' ? 'datagram' : 'stream'));
  return {
    mostAtOnce: 100,
    wholeBatch: false,
    async deliver(messages, signal) {
      const send = transport === 'udp' ? sendDatagrams : sendStream;
      try {
        await send(settings, encoded(messages), signal);
        return { accepted: messages.length, failure: null } satisfies Outcome;
      } catch (error) {
        return { accepted: 0, failure: unavailable((error as Error).message) };
      }
    },
    close: () => undefined,
  };
}

function sendStream(settings: SyslogSettings, messages: readonly Buffer[], signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = opened(settings);
  let sent = false;
  const stop = (): void => void socket.destroy(new Error('the appliance stops'));
  signal.addEventListener('abort', stop, { once: true });
  const limit = setTimeout(
    () =>
      socket.destroy(
        new Error(sent ? 'it did not close the connection after everything was sent' : 'it does not answer'),
      ),
    TIME_LIMIT,
  );
  socket.once(settings.transport === 'tls' ? 'secureConnect' : 'connect', () => {
    socket.end(Buffer.concat(messages.map(framed)), () => {
      sent = true;
    });
  });
  // Nothing is expected from a receiver; reading is needed to see its end.
  socket.resume();
  socket.once('error', reject);
  socket.once('end', () => {
    if (sent) resolve();
    else reject(new Error('it closed the connection before everything was sent'));
  });
  socket.once('close', () => {
    clearTimeout(limit);
    signal.removeEventListener('abort', stop);
    reject(new Error('the connection was closed'));
  });
  if (signal.aborted) stop();
  return promise;
}

function opened({ transport, host, port, ca }: SyslogSettings): Socket {
  if (transport !== 'tls') return connectTcp({ host, port });
  return connectTls({ host, port, ...(ca !== null && { ca }), ...(isIP(host) === 0 && { servername: host }) });
}

/** A connected socket learns that nobody listens there: the kernel reports the ICMP error with the next operation. */
async function sendDatagrams({ host, port }: SyslogSettings, messages: readonly Buffer[]): Promise<void> {
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  const failed = new Promise<never>((_, reject) => socket.once('error', reject));
  try {
    await Promise.race([new Promise<void>((resolve) => socket.connect(port, host, resolve)), failed]);
    for (const message of messages) {
      const sent = new Promise<void>((resolve, reject) =>
        socket.send(message, (error) => (error ? reject(error) : resolve())),
      );
      await Promise.race([sent, failed]);
    }
  } finally {
    failed.catch(() => undefined);
    socket.close();
  }
}
