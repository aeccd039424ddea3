// The scripts of a node's first boot, run unchanged against servers that reply like the cluster's.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { REPOSITORY } from '../../render/nixos/nix-evaluation.ts';
import { needPackages } from '../packages.ts';

const SCRIPTS = join(REPOSITORY, 'nixos/first-boot');

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

interface Answering {
  readonly port: number;
  readonly requests: ReceivedRequest[];
}

let folder = '';
let servers: Server[] = [];

beforeAll(() => needPackages(['curl', 'jq', 'shellcheck']));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-first-boot-'));
});
afterEach(async () => {
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  servers = [];
  rmSync(folder, { recursive: true, force: true });
});

/** `status` is called for each request, so that a service can become healthy later. */
async function answering(status: (request: IncomingMessage) => number): Promise<Answering> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ method: request.method ?? '', path: request.url ?? '', body: await text(request) });
    response.writeHead(status(request), { connection: 'close' }).end('{}');
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { port: (server.address() as AddressInfo).port, requests };
}

async function run(script: string, environment: Record<string, string>) {
  const child = spawn('dash', [join(SCRIPTS, script)], {
    env: { PATH: process.env.PATH ?? '', POLL_SECONDS: '0.05', TIMEOUT_SECONDS: '30', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((ended) => child.on('close', ended)),
  ]);
  const lines = output
    .split('\n')
    .filter((line) => line !== '')
    .map((line): { level: string; message: string } => JSON.parse(line));
  return { code, errors, says: lines.map(({ level, message }) => `${level} ${message}`) };
}

function joining(leader: Answering, local: Answering | null, config: object = {}): Record<string, string> {
  const file = join(folder, 'cluster-config.json');
  const leaderUrl = `http://127.0.0.1:${leader.port}`;
  writeFileSync(
    file,
    JSON.stringify({
      node_id: 'node04',
      bootstrap: false,
      leader_url: leaderUrl,
      raft_addr: '10.0.200.20:2380',
      ...config,
    }),
  );
  return {
    SERVICE: 'flaredb',
    LOCAL_URL: local === null ? '' : `http://127.0.0.1:${local.port}`,
    API_PORT: String(leader.port),
    RAFT_PORT: '2480',
    CONFIG_FILE: file,
    CA_FILE: '/dev/null',
    STATE_FOLDER: join(folder, 'state'),
  };
}

describe('joining the cluster', () => {
  it('waits for its own service and the leader, requests to be added, and is done', async () => {
    let patience = 3;
    const local = await answering(() => (patience-- > 0 ? 503 : 200));
    const leader = await answering(() => 200);
    const environment = joining(leader, local);
    const { code, says, errors } = await run('cluster-join.sh', environment);
    expect(errors).toBe('');
    expect(says).toEqual([
      'INFO Waiting for local flaredb service...',
      'INFO Local flaredb healthy',
      `INFO Waiting for the leader at http://127.0.0.1:${leader.port}`,
      'INFO Join request accepted',
      'INFO Cluster join complete',
    ]);
    expect(code).toBe(0);
    expect(leader.requests.at(-1)).toEqual({
      method: 'POST',
      path: '/admin/member/add',
      body: '{"id":"node04","raft_addr":"10.0.200.20:2480"}',
    });

    const again = await run('cluster-join.sh', environment);
    expect(again.says).toEqual(['INFO flaredb is part of its cluster already']);
    expect(leader.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('sends no request where the node bootstraps the cluster', async () => {
    const local = await answering(() => 200);
    const leader = await answering(() => 500);
    const { code, says } = await run('cluster-join.sh', joining(leader, local, { bootstrap: true }));
    expect(code).toBe(0);
    expect(says.slice(2)).toEqual(['INFO Bootstrap node, cluster initialized', 'INFO Cluster join complete']);
    expect(leader.requests).toEqual([]);
  });

  it('is done where the leader already knows it', async () => {
    const leader = await answering(({ method }) => (method === 'POST' ? 409 : 200));
    const { code, says } = await run('cluster-join.sh', joining(leader, null));
    expect(code).toBe(0);
    expect(says).toContain('INFO The leader knows this node already');
  });

  it('fails, and is retried, where the leader refuses or no service is healthy', async () => {
    const leader = await answering(({ method }) => (method === 'POST' ? 500 : 200));
    const environment = joining(leader, null);
    const refused = await run('cluster-join.sh', environment);
    expect(refused.code).toBe(1);
    expect(refused.says.at(-1)).toBe('ERROR Join request failed: the leader answered 500');
    expect(existsSync(join(folder, 'state/flaredb-joined'))).toBe(false);

    const ill = await answering(() => 503);
    const waited = await run('cluster-join.sh', { ...joining(leader, ill), TIMEOUT_SECONDS: '0' });
    expect(waited.code).toBe(1);
    expect(waited.says.at(-1)).toBe(`ERROR Health check timeout after 0s: http://127.0.0.1:${ill.port}`);
  });

  it('reports what is missing', async () => {
    const leader = await answering(() => 200);
    const without = await run('cluster-join.sh', { ...joining(leader, null), CONFIG_FILE: '/nowhere.json' });
    expect(without).toMatchObject({ code: 1, says: ['ERROR Configuration file not found: /nowhere.json'] });
    const incomplete = await run('cluster-join.sh', joining(leader, null, { raft_addr: null }));
    expect(incomplete).toMatchObject({ code: 1, errors: expect.stringContaining('has no raft_addr') });
    expect(leader.requests).toEqual([]);
  });
});

describe('the health check', () => {
  it('names healthy and unhealthy services', async () => {
    const well = await answering(() => 200);
    const ill = await answering(() => 500);
    const urls = [well, ill].map(({ port }) => `http://127.0.0.1:${port}/health`);
    const environment = { CA_FILE: '/dev/null', TIMEOUT_SECONDS: '0' };
    const { code, says } = await run('health-check.sh', { ...environment, HEALTH_URLS: urls.join(' ') });
    expect(code).toBe(1);
    expect(says).toEqual([`INFO Healthy: ${urls[0]}`, `ERROR Health check timeout after 0s: ${urls[1]}`]);
    expect((await run('health-check.sh', { ...environment, HEALTH_URLS: urls[0] ?? '' })).code).toBe(0);
  });
});

describe('the scripts', () => {
  it.each(['cluster-join.sh', 'health-check.sh'])('%s passes shellcheck', (name) => {
    const { stdout, status } = spawnSync('shellcheck', [join(SCRIPTS, name)], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });
});
