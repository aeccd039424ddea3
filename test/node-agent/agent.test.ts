import { spawnSync } from 'node:child_process';
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { signRoot } from '../../appliance/identity/sign-certificate.ts';
import { needPackages } from '../interop/packages.ts';
import { ROOT } from '../process/appliance.ts';
import { AGENT, AgentSite, type InstalledAgent } from './agent-rig.ts';

interface Task {
  readonly id: string;
  readonly state: string;
  readonly output: string;
}

describe('the text of the agent', () => {
  beforeAll(() => needPackages(['shellcheck', 'dash', 'busybox']));

  it.each([
    ['shellcheck', '-s', 'sh'],
    ['dash', '-n'],
    ['busybox', 'sh', '-n'],
  ])('passes %s', (...command) => {
    const [program = '', ...args] = command;
    const { status, stdout, stderr } = spawnSync(program, [...args, AGENT], { encoding: 'utf8' });
    expect(stdout + stderr).toBe('');
    expect(status).toBe(0);
  });
});

describe('the agent and a real appliance', () => {
  let site: AgentSite;
  let agent: InstalledAgent;
  let firstToken: string;
  const ping = (node: string): Task => site.json<Task>('task', 'run', node, 'ping', '--wait');
  const curl = (path: string, ...args: string[]): string =>
    spawnSync(
      'curl',
      [
        ...['--silent', '--show-error', '--noproxy', '*', '--max-time', '20', '--cacert', agent.file('ca-bundle.crt')],
        ...[...args, `${agent.variable('API_URL')}${path}`],
      ],
      { encoding: 'utf8' },
    ).stdout;
  const withIdentity = (of: InstalledAgent): string[] => ['--cert', of.file('cert.pem'), '--key', of.file('key.pem')];

  beforeAll(async () => {
    await needPackages(['curl', 'openssl', 'dash', 'busybox']);
    site = await AgentSite.make();
    await site.serve();
    agent = site.install('node01');
    firstToken = agent.token();
    agent.start();
    await agent.says('enrolled');
  });
  afterAll(() => site.end());

  it('enrolls the machine as an active, online node, with a private key', () => {
    expect(site.json('nodes', 'show', 'node01')).toMatchObject({ state: 'active' });
    expect(statSync(agent.file('key.pem')).mode & 0o777).toBe(0o600);
    expect(statSync(agent.environmentFile).mode & 0o777).toBe(0o600);
    expect(agent.has('key.pem.next')).toBe(false);
  });

  it('replaces its enrollment token by the recovery token, and prints neither', () => {
    expect(agent.token()).not.toBe(firstToken);
    expect(agent.token()).toMatch(/^ce_/);
    for (const token of [firstToken, agent.token()]) {
      expect(agent.log).not.toContain(token);
      expect(site.serving?.stderr).not.toContain(token);
    }
  });

  it.each(['ping', 'collect-facts', 'run-diagnostics'])('runs %s', (kind) => {
    expect(site.json('task', 'run', 'node01', kind, '--wait')).toMatchObject({ state: 'succeeded' });
  });

  it('rejects the token of a completed enrollment, also with another key', () => {
    const request = spawnSync(
      'openssl',
      [
        'req',
        '-new',
        '-newkey',
        'ed25519',
        '-nodes',
        '-keyout',
        '/dev/null',
        '-subj',
        `/CN=${agent.variable('NODE_ID')}`,
      ],
      { encoding: 'utf8' },
    ).stdout;
    const file = site.site.write('request.pem', request);
    const answer = curl(
      '/node/v1/enroll',
      ...['--data-urlencode', `node_id=${agent.variable('NODE_ID')}`, '--data-urlencode', `token=${firstToken}`],
      ...['--data-urlencode', `certificate_request@${file}`],
    );
    expect(JSON.parse(answer)).toMatchObject({ code: 'enrollment_refused' });
    const recover = curl(
      '/node/v1/recover',
      ...['--data-urlencode', `node_id=${agent.variable('NODE_ID')}`, '--data-urlencode', `token=${agent.token()}`],
      ...['--data-urlencode', `certificate_request@${file}`],
    );
    expect(JSON.parse(recover)).toMatchObject({ message: expect.stringContaining('still valid') });
  });

  it.each(['/node/v1/tasks/wait', '/node/v1/heartbeat', '/node/v1/renew', '/node/v1/tasks/x/result'])(
    'rejects requests without a certificate at %s',
    (path) => {
      const method = path.endsWith('wait') ? [] : ['--data-urlencode', 'a=b'];
      expect(JSON.parse(curl(path, ...method))).toMatchObject({ code: 'unauthenticated' });
    },
  );

  it('accepts TLS 1.2 and newer only, as openssl reports', () => {
    const { host } = new URL(site.nodeApi());
    const old = spawnSync('openssl', ['s_client', '-connect', host, '-tls1_1'], { input: '', encoding: 'utf8' });
    expect(old.status).not.toBe(0);
    const current = spawnSync(
      'openssl',
      [
        's_client',
        '-connect',
        host,
        '-CAfile',
        agent.file('ca-bundle.crt'),
        '-verify_return_error',
        '-verify_ip',
        '127.0.0.1',
      ],
      { input: '', encoding: 'utf8' },
    );
    expect(current.stdout).toContain('Verification: OK');
  });

  it('continues after the appliance was killed during a long poll', async () => {
    await site.restart('SIGKILL');
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
  });

  it('adopts a new authority while it runs, and the old one can be removed', async () => {
    const before = agent.log.length;
    site.run('ca', 'rotate');
    await agent.says('renewed', before);
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
    site.run('ca', 'retire');
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
  });

  it('accepts tasks signed with the next task key, after a heartbeat has announced it', async () => {
    site.run('ca', 'rotate-task-key');
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
    site.run('ca', 'rotate-task-key');
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
  });

  it('recovers by itself after its certificate has expired, also under busybox', async () => {
    expect(await agent.end('SIGTERM')).toBe(0);
    const recoveryToken = agent.token();
    const key = createPrivateKey(readFileSync(agent.file('key.pem')));
    writeFileSync(agent.file('cert.pem'), signRoot(key, 'Long ago', DAY, Date.now() - 30 * DAY).pem);
    const database = new Database(join(site.site.state, 'coldiron.db'));
    database
      .prepare("update certificates set not_after = 1 where kind = 'node' and machine = ?")
      .run(agent.variable('NODE_ID'));
    database.close();
    const before = agent.log.length;
    agent.start(['busybox', 'sh']);
    await agent.says('the certificate has expired: recovering', before);
    await agent.says('recovered', before);
    expect(agent.token()).not.toBe(recoveryToken);
    expect(ping('node01')).toMatchObject({ state: 'succeeded' });
  });

  it('keeps the identity of a retired node without tasks; rejects every request of a removed one', async () => {
    site.run('retire', 'node01');
    const before = agent.log.length;
    expect(site.site.run('task', 'run', 'node01', 'ping').stderr).toContain('gets no tasks');
    expect(JSON.parse(curl('/node/v1/heartbeat', ...withIdentity(agent), '--data-urlencode', 'agent=t'))).toMatchObject(
      {
        state: 'retired',
        tasks: 'no',
      },
    );
    site.run('remove', 'node01', '--yes');
    await agent.says(/refused \(401\)/, before);
    expect(JSON.parse(curl('/node/v1/tasks/wait', ...withIdentity(agent)))).toMatchObject({ code: 'unauthenticated' });
    await agent.end('SIGTERM');
  });

  it('shows a removed machine on its screen that it was removed, until it is declared again', async () => {
    const script = async (): Promise<string> => {
      const boot = site.serving?.where('boot') ?? '';
      return (await fetch(`${boot}boot/ipxe/52-54-00-12-34-56.ipxe?arch=7&platform=efi`)).text();
    };
    expect(await script()).toMatch(/Reason: node01 was removed at \S+Z.*, and its identity is revoked/);
    expect(site.run('explain', '52:54:00:12:34:56', '--arch', '7')).toContain('node01 was removed');
    const nodes = () => site.json<{ hostname: string; state: string }[]>('nodes', 'list');
    expect(nodes().map(({ hostname }) => hostname)).not.toContain('node01');
    expect(site.run('apply', join(ROOT, 'inventory/example.yaml'))).toMatch(
      /node01 created\n.*belonged to node01, removed at .*: this is a new node/,
    );
    expect(nodes()).toContainEqual(expect.objectContaining({ hostname: 'node01', state: 'registered' }));
    expect(await script()).not.toContain('removed');
    // The old identity stays revoked.
    expect(JSON.parse(curl('/node/v1/heartbeat', ...withIdentity(agent), '--data-urlencode', 'agent=t'))).toMatchObject(
      {
        code: 'unauthenticated',
      },
    );
  });

  it('enrolls after it was killed before it could store the reply: the same key gets the same reply', async () => {
    const other = site.install('node02');
    // A curl that loses the reply, then one that does not.
    const bin = join(other.root, 'bin');
    spawnSync('mkdir', ['-p', bin]);
    const real = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim();
    writeFileSync(
      join(bin, 'curl'),
      `#!/bin/sh\nif [ -e '${other.root}/lost' ]; then exec ${real} "$@"; fi\n: >'${other.root}/lost'\n${real} "$@" >/dev/null\nprintf 000\nexit 56\n`,
      { mode: 0o755 },
    );
    other.start(['dash'], { PATH: `${bin}:${process.env.PATH}` });
    await other.says('no reply');
    await other.says('enrolled');
    const screen = readFileSync(other.console, 'utf8');
    expect(screen).toMatch(
      /no reply from https:.*\r\n\r\nColdiron node agent: to do: check that TCP port \d+ of 127\.0\.0\.1 is/,
    );
    expect(screen).toContain('coldiron diagnose ');
    expect(screen).toMatch(/replies again\r\n$/);
    expect(ping('node02')).toMatchObject({ state: 'succeeded' });
    expect(readFileSync(join(other.root, 'lost'), 'utf8')).toBe('');
    await other.end('SIGKILL');
  });

  it('reports a task as failed that was running when it was killed, and runs none twice', async () => {
    const other = site.install('node02', 'reissue');
    other.start();
    await other.says('enrolled');
    const first = ping('node02');
    await other.end('SIGKILL');
    writeFileSync(join(other.root, 'var/node-agent/tasks', first.id), 'begun\n');
    const before = other.log.length;
    other.start();
    await other.says(`the result of task ${first.id} was rejected (409)`, before);
    expect(ping('node02')).toMatchObject({ state: 'succeeded' });
    expect(site.json<Task[]>('task', 'list', 'node02').find(({ id }) => id === first.id)).toMatchObject({
      state: 'succeeded',
    });
  });

  describe('with a task that', () => {
    const SIGNED = /^(.*)$/s;
    let other: InstalledAgent;
    beforeAll(async () => {
      other = site.install('node03');
      other.start();
      await other.says('enrolled');
      await other.end('SIGTERM');
    });

    /** Waits in the store, changed by an attacker with access to the database and, if `resign` is set, to the key. */
    const tampered = (change: (payload: string) => string, resign: boolean): string => {
      const { id } = site.json<Task>('task', 'run', 'node03', 'ping');
      const database = new Database(join(site.site.state, 'coldiron.db'));
      const row = database.prepare('select payload, signature, signing_key from tasks where id = ?').get(id) as {
        payload: string;
        signature: string;
        signing_key: string;
      };
      const payload = change(row.payload);
      const key = createPrivateKey(readFileSync(join(site.site.state, 'task-signing', `${row.signing_key}.key`)));
      const signature = resign ? sign(null, Buffer.from(payload), key).toString('base64') : row.signature;
      database.prepare('update tasks set payload = ?, signature = ? where id = ?').run(payload, signature, id);
      database.close();
      return id;
    };

    it.each([
      [
        'was altered',
        (text: string) => text.replace('"ping"', '"reboot"'),
        false,
        'its signature is not that of a key of this site',
      ],
      [
        'is of no known kind',
        (text: string) => text.replace('"ping"', '"format-disks"'),
        true,
        'this agent knows no task format-disks',
      ],
      [
        'is for another node',
        (text: string) => text.replace(/"node_id":"[^"]*"/, '"node_id":"00000000-0000-4000-8000-000000000000"'),
        true,
        'it is for another node',
      ],
      [
        'has expired',
        (text: string) => text.replace(/"expires_at":"\d{4}/, '"expires_at":"2001'),
        true,
        'it has expired',
      ],
      ['has another form', (text: string) => text.replace(SIGNED, '$1 '), true, 'it is not the task that was signed'],
      [
        'carries a command',
        (text: string) => text.replace('"parameters":{}', '"parameters":{"level":"$(reboot)"}'),
        true,
        'it is not the task that was signed',
      ],
    ])('%s, refuses it with a reason', async (_, change, resign, why) => {
      const id = tampered(change, resign);
      const before = other.log.length;
      other.start();
      await other.says(`task ${id} refused: ${why}`, before);
      const listed = site.site.run('task', 'list', 'node03', '--json').stdout;
      await other.end('SIGTERM');
      expect(listed).toContain(id);
      expect(other.log.slice(before)).not.toContain('begins');
    });
  });
});
