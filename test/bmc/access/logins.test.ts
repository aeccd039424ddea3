import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loginsOf, resealAll, sealed } from '../../../appliance/bmc/access/logins.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { createVault } from '../../../appliance/identity/vault/vault.ts';
import { newKeyText, parseVaultKeys } from '../../../appliance/identity/vault/vault-keys.ts';
import { address, newAudit } from '../../store/samples.ts';
import { BY, login, openerRig, text } from './opener-rig.ts';

const HERE = address('10.2.10.0', 1);

function passwordFile(content: string | null, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'bmc-password');
  if (content !== null) {
    writeFileSync(file, content);
    chmodSync(file, mode);
  }
  return file;
}

async function rig(file: string | null) {
  const made = await openerRig({ passwordFile: file });
  const { bmc } = made.machine.spec;
  if (!bmc) throw new Error('the machine has a BMC');
  return { ...made, logins: () => loginsOf(made, made.machine, bmc) };
}

describe("a BMC's login", () => {
  it.each([
    ['unchanged', 'hunter2', 'hunter2'],
    ['without the line end of an editor', 'hunter2\n', 'hunter2'],
    ['without the line end of another editor', 'hunter2\r\n', 'hunter2'],
    ['with its spaces', ' hunter 2 \n', ' hunter 2 '],
  ])('comes from the password file of the inventory, %s', async (_how, content, password) => {
    const { current, pending } = await (await rig(passwordFile(content, 0o640))).logins();
    expect([current.username, text(current.password), pending]).toEqual(['ADMIN', password, null]);
  });

  it('comes from the vault if it has one, whatever the inventory says', async () => {
    const { logins, keep } = await rig(passwordFile('from the file'));
    await keep('current', 'from the vault');
    expect(text((await logins()).current.password)).toBe('from the vault');
  });

  it('is not sent to another BMC: after a change of the address it must be set again', async () => {
    const { opener, keep, keys, bmcLogin, machine } = await rig(passwordFile('from the file'));
    await keep('current', 'factory');
    const { bmc } = machine.spec;
    const moved = { ...machine, spec: { ...machine.spec, bmc: bmc && { ...bmc, address: address('10.66.6.0', 6) } } };
    await expect(
      opener.using(
        moved,
        () => undefined,
        (opened) => opened.powerState(),
      ),
    ).rejects.toMatchObject({
      code: 'bmc_login_failed',
      message:
        'node1: the bmc-password in the vault is for the BMC at 10.2.10.1, but the BMC address is now 10.66.6.6: ' +
        'if that is correct, set the credentials again',
    });
    expect(bmcLogin.logins).toEqual([]);
    await keys.set(moved, BY, login('factory'), true);
    expect(
      await opener.using(
        moved,
        () => undefined,
        (opened) => opened.powerState(),
      ),
    ).toBe('on');
  });

  it.each([
    ['is world-readable', 'hunter2', 0o644, /accessible to everybody \(mode 0644\): chmod 0640 /],
    ['does not exist', null, 0o600, / does not exist$/],
    ['is empty', '\n', 0o600, / is empty$/],
    ['is a key of the vault', `${newKeyText()}\n`, 0o600, /^the content of .* is not a password$/],
    ['has several lines', '-----BEGIN\nMIIE\n', 0o600, /^the content of .* is not a password$/],
    ['is longer than any password', 'x'.repeat(129), 0o600, /^the content of .* is not a password$/],
    [
      'is larger than any password file',
      'x'.repeat(5000),
      0o600,
      /is too large: a secret file has at most 4096 bytes$/,
    ],
  ])('rejects a file that %s: the log has the reason, and the caller does not', async (_what, content, mode, words) => {
    const { logins, logged } = await rig(passwordFile(content, mode));
    await expect(logins()).rejects.toMatchObject({
      code: 'bmc_login_failed',
      message: 'node1: the password file of its BMC cannot be used',
    });
    expect(logged).toEqual([{ node: 'node1', reason: expect.stringMatching(words) }]);
    expect(JSON.stringify(logged)).not.toContain('hunter2');
  });

  it('is an error when none is set', async () => {
    await expect((await rig(null)).logins()).rejects.toMatchObject({
      code: 'bmc_login_failed',
      message:
        'node1: no credentials for its BMC: set them in the inventory, or with coldiron bmc set-credentials node1 --username NAME',
    });
  });
});

describe('a new key of the vault', () => {
  const [OLD, NEW] = [newKeyText(), newKeyText()];
  const vaultWith = (...lines: string[]) => createVault(mustParse(parseVaultKeys(lines.join('\n'), 'vault-key')));

  it('seals everything again, so that the old one can be deleted', async () => {
    const { store, machine } = await openerRig();
    const before = vaultWith(OLD);
    await store.setBmcCredentials(machine.id, sealed(before, machine.id, HERE, login('a'), 1), newAudit('set'));
    await store.setPendingBmcCredentials(machine.id, sealed(before, machine.id, HERE, login('b'), 2), newAudit('set'));
    expect(await resealAll(store, vaultWith(OLD, NEW))).toEqual({ machines: 1, problems: [] });
    expect(await resealAll(store, vaultWith(OLD, NEW))).toEqual({ machines: 0, problems: [] });
    const { current, pending } = await store.bmcCredentials(machine.id);
    const after = vaultWith(NEW);
    const owner = { machine: machine.id, purpose: 'bmc-password' } as const;
    const opened = [current, pending].map((held) => held && text(after.open(owner, HERE, held.password)));
    expect(opened).toEqual(['a', 'b']);
    expect([current?.setAt, pending?.setAt]).toEqual([1, 2]);
  });

  it('keeps what it cannot open, and reports it', async () => {
    const { store, machine } = await openerRig();
    await store.setBmcCredentials(machine.id, sealed(vaultWith(OLD), machine.id, HERE, login('a'), 1), newAudit('set'));
    const held = await store.bmcCredentials(machine.id);
    const { machines, problems } = await resealAll(store, vaultWith(NEW));
    expect([machines, problems]).toEqual([0, [expect.stringMatching(/was sealed with the key [0-9a-f]{16}/)]]);
    expect(await store.bmcCredentials(machine.id)).toEqual(held);
  });
});
