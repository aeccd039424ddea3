// A local port that forwards to the SSH server of the installer, through a connection whose host key was verified.
// nixos-anywhere verifies none, and has no option for it: through this port it can only reach the known machine.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Client, ClientChannel } from 'ssh2';
import { type Instant, SECOND } from '../../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../../domain/parsed.ts';

const HERE = '127.0.0.1';

export interface Tunnel {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface TunnelLimits {
  /** Until the forwarded SSH server has sent its banner. */
  readonly forward: Instant;
  readonly signal: AbortSignal;
}

/** `port`: of the SSH server, as seen from the installer itself. */
export async function openTunnel(connection: Client, port: number, limits: TunnelLimits): Promise<Parsed<Tunnel>> {
  const tried = await greeting(connection, port, limits);
  if (!tried.ok) return tried;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    carry(connection, socket, port);
  });
  const shut = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  // A client that checks whether the machine is still reachable gets a true result.
  connection.once('close', shut);
  server.listen(0, HERE);
  await once(server, 'listening');
  return parsed({
    host: HERE,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = server.listening ? once(server, 'close') : Promise.resolve();
      shut();
      await closed;
    },
  });
}

function carry(connection: Client, socket: Socket, port: number): void {
  channelTo(connection, port).then(
    (channel) => {
      channel.on('error', () => socket.destroy());
      channel.once('close', () => socket.destroy());
      socket.once('close', () => channel.close());
      socket.pipe(channel).pipe(socket);
    },
    () => socket.destroy(),
  );
}

const channelTo = (connection: Client, port: number): Promise<ClientChannel> =>
  new Promise((resolve, reject) => {
    const answer = (error: Error | undefined, channel: ClientChannel): void =>
      error ? reject(error) : resolve(channel);
    // Throws when the connection is closed.
    connection.forwardOut(HERE, 0, HERE, port, answer);
  });

/** Checked once before use: an SSH server can be configured to forward nothing. */
async function greeting(connection: Client, port: number, { forward, signal }: TunnelLimits): Promise<Parsed<null>> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(forward)]);
  try {
    const channel = await unlessAborted(channelTo(connection, port), limit);
    const [banner] = await once(channel, 'data', { signal: limit });
    channel.close();
    const text = Buffer.from(banner).toString('latin1');
    return text.startsWith('SSH-')
      ? parsed(null)
      : unparsable(`the forwarded port of the installer is not an SSH server: ${shown(text)}`);
  } catch (error) {
    if (signal.aborted) return unparsable('it was cancelled');
    const reason = limit.aborted ? `no answer within ${forward / SECOND} s` : shown((error as Error).message);
    return unparsable(`the installer does not forward to its own SSH server: ${reason}`);
  }
}

/** An SSH server need not answer at all. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = once(signal, 'abort').then(() => Promise.reject(new Error('no answer')));
  return signal.aborted ? Promise.reject(new Error('no answer')) : Promise.race([work, aborted]);
}
