import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { LOOPBACK_SITE, ROOT, ServingProcess, SiteFolder } from './appliance.ts';

describe('coldiron serve', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;

  beforeEach(() => {
    site = new SiteFolder(`${LOOPBACK_SITE}inventory: [${join(ROOT, 'inventory/example.yaml')}]\n`);
  });
  afterEach(async () => {
    await serving?.end('SIGKILL');
    serving = null;
    site.remove();
  });

  it('prints its addresses, serves health there, and keeps its state private', async () => {
    serving = await new ServingProcess(site.path).up();
    const health = await fetch(new URL('/health', serving.where('boot')));
    expect(health.status).toBe(200);
    expect(await health.json()).toEqual({ status: 'healthy', services: { dhcp: 'off', tftp: 'off', http: 'running' } });
    expect(statSync(site.state).mode & 0o777).toBe(0o700);
    for (const name of ['admin-token', 'coldiron.db', 'coldiron.sock']) {
      expect(statSync(join(site.state, name)).mode & 0o777, name).toBe(0o600);
    }
  });

  it('accepts the admin token only, and never prints it', async () => {
    serving = await new ServingProcess(site.path).up();
    const token = readFileSync(join(site.state, 'admin-token'), 'utf8').trim();
    const nodes = new URL(`${serving.where('management')}/nodes`);
    expect((await fetch(nodes)).status).toBe(401);
    const answer = await fetch(nodes, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ total: 5 });
    await serving.end('SIGTERM');
    expect(serving.stdout + serving.stderr).not.toContain(token.slice('ci_0123456789ab_'.length));
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'stops cleanly on %s within five seconds, also with an unfinished request',
    async (signal) => {
      serving = await new ServingProcess(site.path).up();
      const { hostname, port } = new URL(serving.where('boot'));
      const slowClient = connect({ host: hostname, port: Number(port) });
      await once(slowClient, 'connect');
      slowClient.write('GET /health HTTP/1.1\r\nHost: x\r\n'); // and never the empty line
      slowClient.on('error', () => {});
      const began = performance.now();
      expect(await serving.end(signal)).toEqual({ code: 0, signal: null });
      expect(performance.now() - began).toBeLessThan(5000);
      expect(existsSync(join(site.state, 'coldiron.sock'))).toBe(false);
      slowClient.destroy();
    },
  );

  it('locks its state folder, and takes over from a killed process', async () => {
    serving = await new ServingProcess(site.path).up();
    const second = site.run('serve');
    expect(second.status).toBe(5);
    expect(second.stderr).toContain('an appliance already runs with this state folder');
    await serving.end('SIGKILL');
    serving = await new ServingProcess(site.path).up();
    expect(site.run('nodes', 'list', '--json').status).toBe(0);
  });

  it('rejects a port that is in use, and says which', async () => {
    serving = await new ServingProcess(site.path).up();
    const { host } = new URL(serving.where('boot'));
    const other = new SiteFolder(`listen:\n  boot: ${host}\n  management: 127.0.0.1:0\n`);
    try {
      const run = other.run('serve');
      expect(run.status).toBe(7);
      expect(run.stderr).toContain(`cannot listen on ${host}: another program listens there already`);
    } finally {
      other.remove();
    }
  });

  it('keeps the last good inventory when a file is broken at a later start, and rejects a first start with it', async () => {
    const lab = site.write('lab.yaml', readFileSync(join(ROOT, 'inventory/example.yaml'), 'utf8'));
    site.write('coldiron.yaml', `${LOOPBACK_SITE}inventory: [lab.yaml]\n`);
    serving = await new ServingProcess(site.path).up();
    await serving.end('SIGTERM');

    site.write('lab.yaml', readFileSync(lab, 'utf8').replace('52:54:00:12:34:56', '52:54:00:zz'));
    serving = await new ServingProcess(site.path).up();
    expect(serving.stderr).toContain('not a MAC address: 52:54:00:zz');
    expect(JSON.parse(site.run('nodes', 'list', '--json').stdout)).toHaveLength(5);
    await serving.end('SIGTERM');

    const fresh = new SiteFolder(`${LOOPBACK_SITE}inventory: [${lab}]\n`);
    try {
      const run = fresh.run('serve');
      expect(run.status).toBe(3);
      expect(run.stderr).toContain('nodes[0].interfaces[0].mac: not a MAC address: 52:54:00:zz');
    } finally {
      fresh.remove();
    }
  });

  it('serves TLS on the management side when the site file names a certificate', async () => {
    needPackages(['openssl']);
    const [certificate, key] = [join(site.path, 'tls.pem'), join(site.path, 'tls.key')];
    const self = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1', '-nodes'];
    const made = spawnSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      ...self,
      '-keyout',
      key,
      '-out',
      certificate,
    ]);
    expect(made.status).toBe(0);
    site.write('coldiron.yaml', `${LOOPBACK_SITE}tls: { certificate: tls.pem, key: tls.key }\n`);
    serving = await new ServingProcess(site.path).up();
    const url = serving.where('management');
    expect(url).toMatch(/^https:/);
    const dispatcher = new Agent({ connect: { ca: readFileSync(certificate) } });
    const answer = await request(`${url}/nodes`, { dispatcher });
    expect(answer.statusCode).toBe(401);
    await answer.body.dump();
    await dispatcher.close();
    await expect(request(`${url}/nodes`)).rejects.toThrow(/self-signed/);
  });

  it('notifies systemd when it is ready', async () => {
    needPackages(['socat', 'systemd']);
    const socket = join(site.path, 'notify.sock');
    const receiver = spawn('socat', ['-u', `UNIX-RECV:${socket}`, 'STDOUT'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      await expect.poll(() => existsSync(socket)).toBe(true);
      serving = await new ServingProcess(site.path, { NOTIFY_SOCKET: socket }).up();
      const [message] = await once(receiver.stdout, 'data');
      expect(String(message)).toMatch(/READY=1/);
    } finally {
      receiver.kill('SIGKILL');
    }
  });
});
