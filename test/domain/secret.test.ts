import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseLogin } from '../../appliance/bmc/ipmi/login.ts';
import { Secret } from '../../appliance/domain/secret.ts';

const PASSWORD = 'hunter2-hunter2';

describe('a secret', () => {
  const holder = { user: 'admin', password: new Secret(PASSWORD) };

  it.each([
    ['a template', `${holder.password}`],
    ['JSON', JSON.stringify(holder)],
    ['the inspector', inspect(holder, { depth: null, showHidden: true })],
    ['a spread', inspect({ ...holder.password })],
    ['an error', String(new Error(`failed for ${holder.password}`))],
  ])('does not show in %s', (_where, shown) => {
    expect(shown).not.toContain('hunter2');
    expect(shown).not.toContain(Buffer.from(PASSWORD).toString('hex').slice(0, 8));
  });

  it('reveals its value on request', () => {
    expect(Buffer.from(holder.password.reveal()).toString()).toBe(PASSWORD);
  });
});

describe('a login', () => {
  const parse = (userName: string, password: string, bmcKey: string | null = null) =>
    parseLogin({ userName, password: new Secret(password), bmcKey: bmcKey === null ? null : new Secret(bmcKey) });

  it.each([
    ['a user name over 16 bytes', parse('a'.repeat(17), 'x'), 'user name has 17 bytes; IPMI allows at most 16'],
    ['a password over 20 bytes, which BMCs cut', parse('admin', 'a'.repeat(21)), 'password has 21 bytes'],
    ['an empty password', parse('admin', ''), 'anyone could log in'],
    ['a key over 20 bytes', parse('admin', 'x', 'k'.repeat(21)), '(Kg) has 21 bytes'],
    ['a key that reads as none', parse('admin', 'x', '\0key'), 'zero byte'],
  ])('is rejected with %s', (_what, result, reason) => {
    expect(result).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });

  it('shows neither password nor key, and uses the password for a missing key', () => {
    const login = parse('admin', PASSWORD);
    expect(inspect(login, { depth: null })).not.toContain('hunter2');
    if (!login.ok) throw new Error(login.reason);
    expect(login.value.bmcKey.reveal()).toEqual(login.value.passwordKey.reveal());
    expect(login.value.hasBmcKey).toBe(false);
  });
});
