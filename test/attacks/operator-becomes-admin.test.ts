// Attacks by which a role below admin tries to get the appliance's secrets or the rights of an admin through BMC fields: the
// appliance logs in at the address of the attacker with the content of a file that the attacker names.

import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureAdminToken } from '../../appliance/api/admin-token.ts';
import { newTokenText } from '../../appliance/api/api-token.ts';
import { readPasswordFile } from '../../appliance/bmc/access/password-files.ts';
import { DAY } from '../../appliance/domain/instant.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { isUsable, parseTokenText, ROLES } from '../../appliance/domain/token.ts';
import { newEnrollmentToken } from '../../appliance/identity/token-text.ts';
import { newKeyText } from '../../appliance/identity/vault/vault-keys.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { FakeMachine, fakeBmc } from '../bmc/fake-bmc.ts';

let folder: string;
let passwords: string;
let api: Fixture;
/** What the BMC at the attacker's address received. */
let received: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-attack-'));
  passwords = join(folder, 'bmc-passwords');
  await mkdir(passwords, { mode: 0o700 });
  received = [];
  api = await openApi({
    passwordFolder: passwords,
    openDriver: (_machine, _at, { password }) => {
      received.push(Buffer.from(password.reveal()).toString('utf8'));
      return fakeBmc(new FakeMachine());
    },
  });
  // Recorder mode never logs in.
  await apply({ sites: [{ name: 'lab', bmc_mode: 'real' }] });
});
afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

const apply = async (document: object): Promise<void> => {
  const payload = { sources: [{ name: Object.keys(document).join('-'), document }] };
  const answer = await api.call({ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply', payload });
  expect(answer.json()).not.toHaveProperty('code');
};

const node = (bmc: object) => ({ name: 'trap', sku: 'gp1', site: 'lab', bmc });
const BMC = { address: '10.66.6.6', username: 'mallory' };

const secretFile = async (path: string, content: string, mode = 0o600): Promise<string> => {
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
};

/** An admin declares the node; any role then makes the appliance log in. */
const powerOf = async (passwordFile: string) => {
  await apply({ nodes: [node({ ...BMC, password_file: passwordFile })] });
  return api.call({ role: 'viewer', url: '/api/v1/nodes/trap/power' });
};

describe('an operator or tech who sets BMC fields through the API', () => {
  const lesser = ROLES.filter((role) => role !== 'admin');
  const FIELDS = [
    { ...BMC, password_file: '/etc/coldiron/bmc-passwords/rack1' },
    { address: '10.66.6.6' },
    { driver: 'redfish' },
    { username: 'mallory' },
    { password_file: '/state/admin-token' },
    {},
  ];

  it.each(lesser)('gets 403 as %s, and nothing is written', async (role) => {
    for (const bmc of FIELDS) {
      for (const request of [
        { url: '/api/v1/nodes', payload: node(bmc) },
        { url: '/api/v1/nodes/import', payload: { nodes: [{ name: 'fine', sku: 'gp1' }, node(bmc)] } },
        { url: '/api/v1/nodes/import', payload: { nodes: [node(bmc)], dry_run: true } },
      ]) {
        const answer = await api.call({ role, method: 'POST', ...request });
        expect(answer.statusCode, `${role} ${request.url} ${JSON.stringify(bmc)}`).toBe(403);
        expect(answer.json().code).toBe('forbidden');
      }
    }
    expect(api.fleet.inventory().machines.map(({ spec }) => spec.hostname)).toEqual(['node01', 'node02', 'node03']);
  });

  it('learns which field and which role', async () => {
    const one = await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes', payload: node(BMC) });
    expect(one.json()).toMatchObject({
      message: 'bmc.address: BMC fields need the role admin (and 1 more fields); yours is operator',
      details: ['bmc.address', 'bmc.username'],
    });
    const many = await api.call({
      role: 'operator',
      method: 'POST',
      url: '/api/v1/nodes/import',
      payload: { nodes: [{ name: 'fine', sku: 'gp1' }, node({ address: '10.66.6.6' })] },
    });
    expect(many.json().message).toBe('nodes[1].bmc.address: BMC fields need the role admin; yours is operator');
  });

  it('cannot change the BMC of a node that an admin added, and may change the rest of it', async () => {
    const own = { name: 'node09', sku: 'gp1', bmc: { address: '10.0.10.9', username: 'ops' } };
    await api.call({ role: 'admin', method: 'POST', url: '/api/v1/nodes', payload: own });
    const edit = (change: object) =>
      api.call({
        role: 'operator',
        method: 'POST',
        url: '/api/v1/nodes/import',
        payload: { nodes: [{ name: 'node09', sku: 'gp1', ...change }] },
      });
    expect((await edit({ bmc: { address: '10.66.6.6' } })).statusCode).toBe(403);
    expect((await edit({ labels: { rack: 'r9' } })).statusCode).toBe(200);
    const kept = (await api.call({ role: 'viewer', url: '/api/v1/nodes/node09' })).json();
    expect(kept).toMatchObject({ labels: { rack: 'r9' }, bmc: { address: '10.0.10.9', username: 'ops' } });
  });
});

describe('whoever gets to read the state folder later', () => {
  it('finds no admin token that works', async () => {
    const state = await mkdtemp(join(folder, 'state-'));
    const store = await openSqliteStore({ file: join(state, 'coldiron.db') });
    const clock = { time: 0, now: () => clock.time };
    try {
      const file = await ensureAdminToken(store, state, clock);
      const token = mustParse(parseTokenText((await readFile(file ?? '', 'utf8')).trim()));
      clock.time += DAY;
      const held = await store.token(token.id);
      expect(held && isUsable(held.token, clock.time)).toBe(false);
      await ensureAdminToken(store, state, clock);
      expect(await readdir(state)).not.toContain('admin-token');
    } finally {
      await store.close();
    }
  });
});

describe('a password file', () => {
  it('below the folder of the site is sent to the BMC', async () => {
    const answer = await powerOf(await secretFile(join(passwords, 'rack1'), 'hunter2\n', 0o640));
    expect(answer.statusCode).toBe(200);
    expect(received).toEqual(['hunter2']);
  });

  const elsewhere: readonly [what: string, make: () => Promise<string>][] = [
    ['in the state folder', () => secretFile(join(api.stateDir, 'admin-token'), 'just-a-word')],
    ['beside the folder', () => secretFile(join(folder, 'other-secret'), 'hunter2')],
    [
      'in a folder whose name begins alike',
      async () => {
        await mkdir(`${passwords}-old`);
        return secretFile(join(`${passwords}-old`, 'rack1'), 'hunter2');
      },
    ],
    [
      'reached with ..',
      async () => {
        await secretFile(join(folder, 'other-secret'), 'hunter2');
        return `${passwords}/../other-secret`;
      },
    ],
    [
      'reached by a link',
      async () => {
        await symlink(await secretFile(join(folder, 'other-secret'), 'hunter2'), join(passwords, 'rack1'));
        return join(passwords, 'rack1');
      },
    ],
    [
      'reached by a link to its folder',
      async () => {
        await secretFile(join(api.stateDir, 'secret'), 'hunter2');
        await symlink(api.stateDir, join(passwords, 'below'));
        return join(passwords, 'below', 'secret');
      },
    ],
    ['that does not exist', async () => join(passwords, 'nothing')],
    ['that is the folder itself', async () => passwords],
    [
      'that is a folder',
      async () => {
        await mkdir(join(passwords, 'rack'));
        return join(passwords, 'rack');
      },
    ],
    [
      'that is a pipe',
      async () => {
        execFileSync('mkfifo', ['-m', '600', join(passwords, 'pipe')]);
        return join(passwords, 'pipe');
      },
    ],
    ['that everybody can read', () => secretFile(join(passwords, 'rack1'), 'hunter2', 0o644)],
    ['that is too large', () => secretFile(join(passwords, 'rack1'), 'x'.repeat(1_000_000))],
    ['with an API token', () => secretFile(join(passwords, 'rack1'), `${newTokenText()}\n`)],
    ['with an API token in a line', () => secretFile(join(passwords, 'rack1'), `TOKEN=${newTokenText()}`)],
    [
      'with an enrollment token',
      () => secretFile(join(passwords, 'rack1'), Buffer.from(newEnrollmentToken().text.reveal()).toString()),
    ],
    ['with a session key or a vault key', () => secretFile(join(passwords, 'rack1'), ` ${newKeyText()} \n`)],
  ];

  it.each(elsewhere)('%s is not sent, and the answer does not tell why', async (_what, make) => {
    const answer = await powerOf(await make());
    expect(received).toEqual([]);
    expect(answer.statusCode).toBe(502);
    const { correlation_id: _, ...envelope } = answer.json();
    // One answer for all, so that nobody learns which files exist.
    expect(envelope).toEqual({
      code: 'bmc_login_failed',
      message: 'trap: the password file of its BMC cannot be used',
      hint: expect.stringContaining('log of the appliance'),
    });
  });

  it('below the state folder is not read, even if the folder of the site contains the state folder', async () => {
    const state = join(passwords, 'state');
    await mkdir(state);
    const read = await readPasswordFile({ folder: passwords, state }, await secretFile(join(state, 'x'), 'hunter2'));
    expect(read).toEqual({ ok: false, reason: expect.stringMatching(/where the appliance keeps its own secrets/) });
  });

  it('may be a link within the folder: secret managers publish new versions so', async () => {
    await mkdir(join(passwords, 'v1'));
    await secretFile(join(passwords, 'v1', 'rack1'), 'hunter2');
    await symlink('v1/rack1', join(passwords, 'rack1'));
    expect((await powerOf(join(passwords, 'rack1'))).statusCode).toBe(200);
    expect(received).toEqual(['hunter2']);
  });

  it('of a refused login is named in the log of the appliance, with the reason', async () => {
    await powerOf(join(folder, 'other-secret'));
    expect(api.log.lines).toContainEqual(
      expect.objectContaining({
        node: 'trap',
        reason: expect.stringMatching(/other-secret is not below .*bmc-passwords: move it below the folder/),
      }),
    );
  });
});
