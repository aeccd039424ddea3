// A fake of the appliance's side of a session, as in docs/service-os.md, which keeps everything it received.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';

export const TICKET = 'T'.repeat(43);
export const SESSION_KEY = 'K'.repeat(43);

export interface ReportedStep {
  readonly sequence: number;
  readonly step: string;
  readonly status: string;
  readonly message: string | null;
  readonly log: string | null;
}

interface Received {
  opening: Record<string, unknown> | null;
  facts: Record<string, unknown> | null;
  steps: ReportedStep[];
  outcome: { ok: boolean; step: string; reason: string | null } | null;
  fetched: string[];
  unauthenticated: string[];
}

export interface SessionServer {
  readonly url: string;
  readonly received: Received;
  cancel(): void;
  /** Resolves when a step with this name and status was reported. */
  stepReported(step: string, status: string): Promise<void>;
}

interface Played {
  readonly order: object;
  readonly files: ReadonlyMap<string, Buffer>;
  /** Issued only once. */
  readonly once: readonly string[];
}

export async function playSession({ order, files, once: onceOnly }: Played): Promise<SessionServer> {
  const received: Received = { opening: null, facts: null, steps: [], outcome: null, fetched: [], unauthenticated: [] };
  let cancelled = false;
  const waiting: { readonly name: string; readonly resolve: () => void }[] = [];

  const answer = async (request: IncomingMessage): Promise<[status: number, body: Buffer | object | null]> => {
    const body = await bodyOf(request);
    const path = (request.url ?? '').replace('/boot/session/', '');
    if (path === TICKET) {
      if (received.opening) return [409, { message: 'refused: the ticket was used already' }];
      received.opening = JSON.parse(body);
      return [201, { session: SESSION_KEY, node: 'node05', mode: 'install', expires_in: 3600, order }];
    }
    if (request.headers.authorization !== `Bearer ${SESSION_KEY}`) {
      received.unauthenticated.push(path);
      return [401, { message: 'no session' }];
    }
    if (path === 'order') return [200, { ...order, cancelled }];
    if (cancelled) return [409, { message: 'the session has ended: cancelled' }];
    if (path === 'facts') {
      received.facts = JSON.parse(body);
      return [204, null];
    }
    if (path === 'steps') {
      const step = JSON.parse(body);
      received.steps.push(step);
      for (const { name, resolve } of waiting) if (name === `${step.step} ${step.status}`) resolve();
      return [204, null];
    }
    if (path === 'outcome') {
      received.outcome = JSON.parse(body);
      return [200, { next: received.outcome?.ok ? 'reboot' : 'wait' }];
    }
    const name = path.replace('files/', '');
    const file = files.get(name);
    if (!file) return [404, { message: `there is no file ${name}` }];
    if (onceOnly.includes(name) && received.fetched.includes(name))
      return [409, { message: `${name} was already issued` }];
    received.fetched.push(name);
    return [200, file];
  };

  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body]) =>
        response.writeHead(status).end(body === null || Buffer.isBuffer(body) ? body : JSON.stringify(body)),
      (error: Error) => response.writeHead(500).end(JSON.stringify({ message: error.message })),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return {
    url: `http://127.0.0.1:${address.port}/boot/session/${TICKET}`,
    received,
    cancel: () => {
      cancelled = true;
    },
    stepReported: (step, status) => new Promise((resolve) => waiting.push({ name: `${step} ${status}`, resolve })),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
