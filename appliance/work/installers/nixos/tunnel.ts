// A port of this machine that leads to the SSH server of the installer, through a connection whose host key was checked. nixos-anywhere
// checks none, and cannot be told to: through here it can only reach the machine that we know.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Client, ClientChannel } from 'ssh2';
import { SECOND } from '../../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../../domain/parsed.ts';

const HERE = '127.0.0.1';
const BANNER_WITHIN = 10 * SECOND;

export interface Tunnel {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** `port`: where the SSH server listens, seen from the installer itself. */
export async function openTunnel(connection: Client, port: number): Promise<Parsed<Tunnel>> {
  const tried = await greeting(connection, port);
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
  // Whoever asks whether the machine is still there gets a true answer.
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
    // Throws when the connection is gone.
    connection.forwardOut(HERE, 0, HERE, port, answer);
  });

/** Once before anybody depends on it: an SSH server can be told to forward nothing. */
async function greeting(connection: Client, port: number): Promise<Parsed<null>> {
  try {
    const channel = await channelTo(connection, port);
    const [heard] = await once(channel, 'data', { signal: AbortSignal.timeout(BANNER_WITHIN) });
    channel.close();
    const text = Buffer.from(heard).toString('latin1');
    return text.startsWith('SSH-')
      ? parsed(null)
      : unparsable(`something else than SSH answers inside the installer: ${shown(text)}`);
  } catch (error) {
    return unparsable(`the installer forwards nothing to its own SSH server: ${shown((error as Error).message)}`);
  }
}
