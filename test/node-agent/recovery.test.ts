// A node whose agent lost or damaged its files, with a real appliance and the real agent in a box: the restart command brings it back. Changed
// settings reach it, settings that do not work are taken back, and its log reaches the appliance.

import { readFileSync, statSync } from 'node:fs';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../free-port.ts';
import { needPackages } from '../interop/packages.ts';
import { ROOT } from '../process/appliance.ts';
import { AgentSite } from './agent-rig.ts';
import { NodeBox } from './node-box.ts';

interface Agent {
  readonly settings: string;
  readonly updated: string;
  readonly problem: string | null;
  readonly api_url: { readonly used: string; readonly wanted: string };
}
interface Line {
  readonly node_id: string;
  readonly action: string;
  readonly error_class: string | null;
  readonly message: string;
}

const LONG = { timeout: 60_000, interval: 300 };

let site: AgentSite;
let box: NodeBox;
const ping = () => site.json<{ state: string }>('task', 'run', 'node01', 'ping', '--wait');
const agent = () => site.get<Agent>('/nodes/node01/agent');
const lines = async (query = '') =>
  (await site.get<{ lines: Line[] }>(`/nodes/node01/agent/logs?limit=1000&${query}`)).lines;
const origin = () => new URL(site.nodeApi()).origin;
const health = async () => (await site.get<{ health: string }>('/nodes/node01')).health;
/** The node as the operator moves it: the example with another URL of the node API. */
function moveTo(url: string | null): void {
  const text = readFileSync(join(ROOT, 'inventory/example.yaml'), 'utf8');
  const line = url === null ? '' : `    api_url: ${url}\n`;
  const file = site.site.write(
    'example.yaml',
    text.replace('    domain: example.com\n', `    domain: example.com\n${line}`),
  );
  site.run('apply', file);
}

beforeAll(async () => {
  await needPackages(['curl', 'openssl', 'dash', 'util-linux']);
  site = await AgentSite.make();
  await site.serve();
  box = await NodeBox.open();
  const script = join(site.site.path, 'node01.sh');
  site.run('token', 'issue', 'node01', '--output', script);
  box.sh(`sh ${script}`);
});
afterAll(async () => {
  await box?.close();
  await site?.end();
});

describe('a node that lost its identity', () => {
  it('was installed by hand and is online', async () => {
    await expect.poll(health, LONG).toBe('online');
  });

  it.each([
    ['lost its env file', 'rm /etc/coldiron/node-agent.env'],
    ['has a damaged env file', 'head -c 200 /dev/urandom >/etc/coldiron/node-agent.env'],
    ['lost its certificate', 'rm /etc/coldiron/cert.pem'],
    ['has a damaged key', 'echo damaged >/etc/coldiron/key.pem'],
    ['lost its authorities', 'rm /etc/coldiron/ca-bundle.crt /etc/coldiron/node-cert-ca-bundle.crt'],
  ])('and %s recovers with the restart command', async (_, damage) => {
    const before = box.variable('ENROLLMENT_TOKEN');
    box.sh(`systemctl stop coldiron-node-agent.service; ${damage}; systemctl start coldiron-node-agent.service`);
    const file = join(site.site.path, 'restart.sh');
    site.run('agent', 'recover', 'node01', '--output', file);
    expect(statSync(file).mode & 0o777).toBe(0o700);
    const command = readFileSync(file, 'utf8');
    const output = box.sh(command);
    expect(output).toContain('written: /etc/coldiron/node-agent.env\n');
    expect(output).toContain('started: coldiron-node-agent.service\n');
    expect(ping()).toMatchObject({ state: 'succeeded' });
    const token = box.variable('ENROLLMENT_TOKEN');
    expect(token).not.toBe(before);
    expect(command).not.toContain(token);
    expect(output + box.log).not.toContain(/ENROLLMENT_TOKEN="([^"]*)"/.exec(command)?.[1]);
    expect(box.sh('stat -c %a /etc/coldiron/node-agent.env').trim()).toBe('600');
  });

  it('is audited as the reissue that it is, under the id of its request', () => {
    const entries = site.json<{ action: string; correlation_id: string; after: object }[]>('audit', 'list');
    const reissued = entries.findLast(({ action }) => action === 'nodes.reissue_enrollment');
    expect(reissued).toMatchObject({ after: { form: 'restart-command' } });
    const same = site.json<{ action: string }[]>('audit', 'list', '--correlation-id', reissued?.correlation_id ?? '');
    expect(same).toMatchObject([{ action: 'nodes.reissue_enrollment' }]);
    const events = site.json<{ kind: string }[]>('events', '--correlation-id', reissued?.correlation_id ?? '');
    expect(events.map(({ kind }) => kind)).toEqual(['enrollment.bundle_handed_over']);
  });

  it('is installed again with a bootstrap script when its agent is gone, too', () => {
    box.sh('systemctl stop coldiron-node-agent.service; rm -r /etc/coldiron /opt/coldiron');
    const command = site.run('agent', 'recover', 'node01', '--show');
    expect(box.run(command)).toMatchObject({ status: 1, output: expect.stringContaining('bootstrap script') });
    const file = join(site.site.path, 'install.sh');
    site.run('agent', 'script', 'node01', '--output', file);
    box.sh(`sh ${file}`);
    expect(ping()).toMatchObject({ state: 'succeeded' });
  });

  it('can check the URL and the authority before it has a certificate', () => {
    const curl = 'curl --silent --noproxy "*" --cacert /etc/coldiron/ca-bundle.crt';
    for (const path of ['/node/v1/health', '/api/v1/healthz']) {
      expect(JSON.parse(box.sh(`${curl} ${origin()}${path}`))).toMatchObject({ status: 'ok' });
    }
    const wait = `/internal/v1/nodes/${box.variable('NODE_ID')}/tasks/wait?timeout=0`;
    const own = '--cert /etc/coldiron/cert.pem --key /etc/coldiron/key.pem --output /dev/null --write-out %{http_code}';
    expect(box.sh(`${curl} ${own} ${origin()}${wait}`)).toBe('204');
    expect(box.sh(`${curl} ${own} ${origin()}${wait.replace(/nodes\/[^/]*/, 'nodes/other')}`)).toBe('403');
  });
});

describe('changed settings', () => {
  const port = () => new URL(site.nodeApi()).port;

  it('reach a running node, in its file too, and the appliance sees it', async () => {
    await expect.poll(async () => (await agent()).settings, LONG).toBe('current');
    moveTo(`https://localhost:${port()}`);
    site.run('agent', 'reconcile', 'node01');
    expect(await agent()).toMatchObject({ settings: 'current', api_url: { used: `https://localhost:${port()}` } });
    expect(box.variable('API_URL')).toBe(`https://localhost:${port()}`);
    site.run('ca', 'rotate');
    site.run('ca', 'rotate-task-key');
    site.run('agent', 'reconcile', 'node01');
    const keys = site.json<{ task_signing_keys: { id: string }[] }>('ca', 'show').task_signing_keys;
    for (const { id } of keys) expect(box.variable('TASK_SIGNING_PUBKEYS')).toContain(id);
    expect(ping()).toMatchObject({ state: 'succeeded' });
  });

  it('that do not work are not used: the node keeps the old ones and says why', async () => {
    const closed = await freePort();
    moveTo(`https://localhost:${closed}`);
    const refused = site.site.run('agent', 'reconcile', 'node01');
    expect(refused.status).toBe(5);
    expect(refused.stderr).toContain(`https://localhost:${closed} does not accept this node`);
    expect(await agent()).toMatchObject({ settings: 'stale', api_url: { used: `https://localhost:${port()}` } });
    expect(ping()).toMatchObject({ state: 'succeeded' });
    expect(site.run('diagnose', 'node01')).toContain('still uses');
    expect(site.run('nodes', 'show', 'node01')).toContain('stale');
  });

  it('that stop working before a heartbeat are taken back', async () => {
    const relay = await Relay.open(Number(port()), 1);
    try {
      moveTo(`https://localhost:${relay.port}`);
      site.site.run('agent', 'reconcile', 'node01', '--timeout', '1');
      await expect.poll(() => box.log, LONG).toContain('the previous settings were restored');
      expect(box.variable('API_URL')).toBe(`https://localhost:${port()}`);
    } finally {
      relay.close();
    }
    moveTo(null);
    site.run('agent', 'reconcile', 'node01');
    expect(await agent()).toMatchObject({ settings: 'current', api_url: { used: origin() } });
  });
});

describe('the log of the agent', () => {
  it('is on the appliance, by node, action and error class', async () => {
    await expect.poll(async () => (await lines('action=settings')).length, LONG).toBeGreaterThan(3);
    const refused = site.json<Line[]>(
      ...['agent', 'logs', 'node01', '--action', 'settings', '--error-class', 'unreachable', '--limit', '1000'],
    );
    const about = { node_id: box.variable('NODE_ID'), message: expect.stringContaining('does not accept this node') };
    expect(refused).toEqual(expect.arrayContaining([expect.objectContaining(about)]));
    expect((await lines('errors=true')).every((line) => line.error_class !== null)).toBe(true);
    expect((await lines('contains=enrolled:%20the%20certificate')).length).toBeGreaterThan(0);
    const said = (await lines()).map(({ message }) => message);
    expect(said.filter((message) => message.includes('ce_'))).toEqual([]);
    const events = site.json<{ kind: string }[]>('events', '--kind', 'agent', '--limit', '500');
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['agent.error', 'agent.settings-applied']));
  });
});

describe('an update of the agent', () => {
  const AGENT = '/opt/coldiron/node-agent/node-agent';
  const make = (change: string) => {
    box.sh(`systemctl stop coldiron-node-agent.service; ${change}; systemctl start coldiron-node-agent.service`);
    return expect.poll(async () => (await agent()).updated, LONG).toBe('outdated');
  };

  it('replaces it, with a new recovery token, and reports its end', async () => {
    await make(`echo '# an earlier version' >>${AGENT}`);
    const token = box.variable('ENROLLMENT_TOKEN');
    site.run('agent', 'update', 'node01', '--wait-seconds', '60');
    expect((await agent()).updated).toBe('current');
    expect(box.sh(`sha256sum <${AGENT}`)).toBe(box.sh(`sha256sum <${join(ROOT, 'boot-assets/node-agent/node-agent')}`));
    await expect.poll(() => box.variable('ENROLLMENT_TOKEN'), LONG).not.toBe(token);
    const end = async () => (await lines('action=update')).map(({ message }) => message);
    await expect.poll(end, LONG).toEqual(expect.arrayContaining([expect.stringContaining('the update is complete')]));
  });

  it('is undone when the new agent sends no heartbeat', async () => {
    // The new agent finds a curl that fails; the one before uses another.
    await make(`sed -i 's/run curl --silent/run \\/usr\\/bin\\/curl --silent/; s/^  curl --silent/  \\/usr\\/bin\\/curl --silent/' ${AGENT}
      printf '#!/bin/sh\\nexit 7\\n' >/opt/bin/curl; chmod 755 /opt/bin/curl`);
    const failed = site.site.run('agent', 'update', 'node01', '--wait-seconds', '10');
    expect(failed.status).toBe(9);
    expect(failed.stdout + failed.stderr).toContain('the previous agent was restored');
    expect((await agent()).updated).toBe('outdated');
    expect(ping()).toMatchObject({ state: 'succeeded' });
    box.sh('rm /opt/bin/curl');
  });
});

/** Forwards so many connections to a port of this machine, and refuses the others. */
class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async open(to: number, most: number): Promise<Relay> {
    const server = createServer();
    const port = await freePort();
    const relay = new Relay(server, port);
    let taken = 0;
    server.on('connection', (socket) => {
      taken += 1;
      if (taken > most) return void socket.destroy();
      const other = dial(to, '127.0.0.1');
      for (const each of [socket, other]) {
        relay.#sockets.add(each);
        each.on('error', () => undefined);
      }
      socket.pipe(other).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return relay;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
