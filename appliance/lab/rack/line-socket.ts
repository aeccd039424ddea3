// Requests of one line over a Unix socket: one connection, one line, one reply. Access to the socket file is the permission.

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';

const MAX_LINE = 64 * 1024;

export interface LineSocket {
  /** Waits until earlier requests are answered. */
  close(): Promise<void>;
}

/** `reply` must not reject: it reports failures in its reply. */
export async function serveLines(path: string, reply: (line: string) => Promise<string>): Promise<LineSocket> {
  const idle = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    idle.add(socket);
    // The client has gone; there is no one to report an error to.
    socket.on('error', () => socket.destroy());
    readLine(socket)
      .finally(() => idle.delete(socket))
      .then(
        async (line) => void socket.end(await reply(line)),
        () => socket.destroy(),
      );
  });
  await rm(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of idle) socket.destroy();
      await closed;
    },
  };
}

export async function requestLine(path: string, line: string, milliseconds: number): Promise<string> {
  const socket = connect(path);
  const timeout = AbortSignal.timeout(milliseconds);
  const abort = (): void => void socket.destroy(new Error(`${path} did not reply within ${milliseconds} ms`));
  timeout.addEventListener('abort', abort);
  try {
    await once(socket, 'connect');
    socket.end(`${line}\n`);
    let text = '';
    for await (const bytes of socket) text += bytes;
    return text;
  } finally {
    timeout.removeEventListener('abort', abort);
    socket.destroy();
  }
}

function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => {
      text += part;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > MAX_LINE) reject(new Error('the line is too long'));
    });
    socket.on('end', () => reject(new Error('no line received')));
    socket.on('close', () => reject(new Error('no line received')));
  });
}
