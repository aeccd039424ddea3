// BMC credentials on their way from the command line to the BMC, and nowhere else.

import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN, type SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { BmcSite } from './bmc-site.ts';

const WRONG = 'not-the-password';

let site: BmcSite;
let bmc: SimulatedBmc;

async function begin(password: string | null): Promise<void> {
  site = new BmcSite([{ number: 1, password }]);
  bmc = await site.bmc(1);
  await site.serve();
}
afterEach(() => site.remove());

const inForce = (): string => bmc.machine.users.find(({ name }) => name === ADMIN.name)?.password ?? '';
const status = async () => (await site.json('power', 'node01', 'status'))[0];
const setCredentials = (password: string, ...more: string[]) =>
  site.run(['bmc', 'set-credentials', 'node01', '--username', ADMIN.name, ...more], `${password}\n`);

describe('credentials', () => {
  beforeEach(() => begin(null));

  it('come from standard input, are verified first, and survive a restart', async () => {
    const wrong = await setCredentials(WRONG);
    expect([wrong.status, wrong.stderr]).toEqual([6, expect.stringContaining('node01')]);
    expect(await status()).toMatchObject({ code: 'bmc_login_failed' });

    const right = await setCredentials(ADMIN.password);
    expect(right.stdout).toBe("The credentials of node01's BMC are in the vault; the login works.\n");
    expect(await status()).toMatchObject({ power: 'off' });
    await site.serving?.end('SIGTERM');
    await site.serve();
    expect(await status()).toMatchObject({ power: 'off' });
  });

  it('are rejected when they are empty', async () => {
    const run = await site.run(['bmc', 'set-credentials', 'node01', '--username', 'admin']);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('the value is empty')]);
  });
});

describe('a BMC with a key of its own (Kg)', () => {
  it('accepts a login only with that key', async () => {
    site = new BmcSite([{ number: 1, password: null }]);
    bmc = await site.bmc(1, { bmcKey: 'key of the lab' });
    await site.serve();
    expect((await setCredentials(ADMIN.password)).status).toBe(6);
    const key = site.folder.write('kg', 'key of the lab\n');
    chmodSync(key, 0o644);
    const open = await setCredentials(ADMIN.password, '--key-file', key);
    expect([open.status, open.stderr]).toEqual([
      2,
      expect.stringContaining(`every user can read the file of the BMC key`),
    ]);
    chmodSync(key, 0o600);
    expect((await setCredentials(ADMIN.password, '--key-file', key)).status).toBe(0);
    expect(await status()).toMatchObject({ power: 'off' });
  });
});

describe('a world-readable password file', () => {
  it('is reported with its mode in the log and by check, and only as unusable over the API', async () => {
    await begin(ADMIN.password);
    const file = join(site.folder.path, 'passwords/node1');
    chmodSync(file, 0o644);
    const run = await site.run(['power', 'node01', 'status']);
    expect([run.status, run.stderr]).toEqual([
      6,
      expect.stringContaining('node01: the password file of its BMC cannot be used'),
    ]);
    expect(run.stderr).not.toContain(file);
    const reason = `${file} is accessible to everybody (mode 0644)`;
    await expect.poll(() => site.serving?.stderr).toContain(reason);
    expect((await site.run(['check'])).stdout).toContain(reason);
  });
});

describe('too many wrong passwords', () => {
  it('block further attempts, until the right one is set', async () => {
    await begin(WRONG);
    expect(await status()).toMatchObject({ code: 'bmc_login_failed' });
    expect(await status()).toMatchObject({ code: 'bmc_login_failed' });
    const before = bmc.received.length;
    const third = await status();
    expect(third).toMatchObject({ code: 'bmc_locked_out', message: expect.stringContaining('try again after') });
    expect(bmc.received.length).toBe(before);
    expect((await setCredentials(ADMIN.password)).status).toBe(0);
    expect(await status()).toMatchObject({ power: 'off' });
  });
});

describe('rotating the password', () => {
  beforeEach(() => begin(ADMIN.password));

  it('leaves a password that only the BMC and the vault know', async () => {
    const run = await site.run(['bmc', 'rotate', 'node01']);
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(inForce()).not.toBe(ADMIN.password);
    expect(await status()).toMatchObject({ power: 'off' });
    const actions = (await site.json('audit', 'list')).map(({ action }: { action: string }) => action);
    expect(actions.slice(-3)).toEqual(['bmc.rotate', 'bmc.rotation-begun', 'bmc.rotated']);
  });

  it('restores the old password when the BMC stores a different one', async () => {
    // It truncates the new password, and accepts the old one unchanged.
    Object.defineProperty(bmc.faults, 'passwordBytes', { get: () => (inForce() === ADMIN.password ? 8 : 20) });
    const run = await site.run(['bmc', 'rotate', 'node01']);
    expect([run.status, run.stderr]).toEqual([7, expect.stringContaining('the old password is in force')]);
    expect(inForce()).toBe(ADMIN.password);
    expect(await status()).toMatchObject({ power: 'off' });
    expect((await site.run(['trail', 'node01'])).stdout).toMatch(/bmc\.failed +BMC command failed: change password/);
  });
});

describe('the secrets', () => {
  it('appear in no file of the state, log line, reply or process list', async () => {
    await begin(null);
    const setting = setCredentials(ADMIN.password);
    const lists: string[] = [];
    // A program that is just starting has no command line for a moment.
    await expect.poll(() => lists[lists.push(processList()) - 1]).toContain('set-credentials');
    await setting;
    const rotating = site.run(['bmc', 'rotate', 'node01']);
    lists.push(processList());
    await rotating;
    await status();
    const answers = await Promise.all([
      site.run(['trail', 'node01', '--json']),
      site.run(['audit', 'list', '--json']),
      site.run(['nodes', 'show', 'node01', '--json']),
    ]);
    const vaultKey = readFileSync(join(site.folder.state, 'vault-key'), 'latin1').trim();
    const places: Record<string, string> = {
      log: `${site.serving?.stdout}${site.serving?.stderr}`,
      answers: answers.map((run) => run.stdout + run.stderr).join(''),
      processes: lists.join('\n'),
      ...filesBelow(site.folder.state),
    };
    expect(Object.keys(places)).toEqual(expect.arrayContaining(['coldiron.db', 'coldiron.db-wal', 'vault-key']));
    const secrets = [ADMIN.password, inForce(), vaultKey];
    expect(new Set(secrets).size).toBe(3);
    for (const [place, content] of Object.entries(places)) {
      for (const secret of secrets.filter((each) => !(place === 'vault-key' && each === vaultKey))) {
        for (const form of formsOf(secret)) expect(content.includes(form), `${form} in ${place}`).toBe(false);
      }
    }
  });
});

const formsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')];
};

const processList = (): string =>
  site
    .processes()
    .map(({ commandLine, environment }) => commandLine + environment)
    .join('\n');

function filesBelow(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    names.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), 'latin1')]),
  );
}
