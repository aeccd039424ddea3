// Questions of one line over a Unix socket: one connection, one line, one answer. Reaching the file is the permission.

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';

const LONGEST_LINE = 64 * 1024;

export interface LineSocket {
  /** What was asked before is still answered, and waited for. */
  close(): Promise<void>;
}

/** `answer` never rejects: what goes wrong is an answer, too. */
export async function answerLines(path: string, answer: (line: string) => Promise<string>): Promise<LineSocket> {
  const silent = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    silent.add(socket);
    // Whoever asked has gone away: nobody is left to be told.
    socket.on('error', () => socket.destroy());
    readLine(socket)
      .finally(() => silent.delete(socket))
      .then(
        async (line) => void socket.end(await answer(line)),
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
      for (const socket of silent) socket.destroy();
      await closed;
    },
  };
}

export async function askLine(path: string, line: string, milliseconds: number): Promise<string> {
  const socket = connect(path);
  const patience = AbortSignal.timeout(milliseconds);
  const giveUp = (): void => void socket.destroy(new Error(`${path} did not answer within ${milliseconds} ms`));
  patience.addEventListener('abort', giveUp);
  try {
    await once(socket, 'connect');
    socket.end(`${line}\n`);
    let text = '';
    for await (const bytes of socket) text += bytes;
    return text;
  } finally {
    patience.removeEventListener('abort', giveUp);
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
      else if (text.length > LONGEST_LINE) reject(new Error('the line does not end'));
    });
    socket.on('end', () => reject(new Error('no line came')));
    socket.on('close', () => reject(new Error('no line came')));
  });
}
