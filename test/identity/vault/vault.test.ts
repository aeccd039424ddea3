import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { parseMachineId } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { SealedText } from '../../../appliance/domain/sealed-text.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { createVault, type SecretOwner } from '../../../appliance/identity/vault/vault.ts';
import { newKeyText, parseVaultKeys } from '../../../appliance/identity/vault/vault-keys.ts';

const [OLD, NEW] = [newKeyText(), newKeyText()];
const vaultWith = (...lines: string[]) => createVault(mustParse(parseVaultKeys(lines.join('\n'), 'vault-key')));
const owner = (digit: number, purpose: SecretOwner['purpose'] = 'bmc-password'): SecretOwner => ({
  machine: mustParse(parseMachineId(`00000000-0000-4000-8000-00000000000${digit}`)),
  purpose,
});
const HERE = mustParse(parseIpv4('10.0.10.50'));
const THERE = mustParse(parseIpv4('10.0.10.51'));
const text = (secret: Secret): string => Buffer.from(secret.reveal()).toString('utf8');

describe('the vault', () => {
  it('opens what it sealed, for any bytes', () => {
    const vault = vaultWith(OLD);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect([...vault.open(owner(1), HERE, vault.seal(owner(1), HERE, new Secret(bytes))).reveal()]).toEqual([
          ...bytes,
        ]);
      }),
    );
  });

  it('reveals nothing of the secret, and never produces the same text twice', () => {
    const vault = vaultWith(OLD);
    const secret = new Secret('correct-horse-20byte');
    const [one, two] = [vault.seal(owner(1), HERE, secret), vault.seal(owner(1), HERE, secret)];
    expect(one).not.toBe(two);
    for (const sealed of [one, two]) {
      expect(sealed).not.toContain('correct');
      expect(Buffer.from(sealed.split('.')[4] ?? '', 'base64url').toString('latin1')).not.toContain('correct');
    }
    expect(inspect(vault, { depth: 5 })).not.toContain(OLD);
  });

  it('refuses another machine or another purpose', () => {
    const vault = vaultWith(OLD);
    const sealed = vault.seal(owner(1), HERE, new Secret('x'));
    for (const other of [owner(2), owner(1, 'bmc-key')]) {
      expect(() => vault.open(other, HERE, sealed)).toThrow('was modified, or was sealed for another owner');
    }
  });

  it('refuses a BMC at another address, and names both', () => {
    const vault = vaultWith(OLD);
    const sealed = vault.seal(owner(1), HERE, new Secret('hunter2'));
    for (const held of [sealed, vaultWith(OLD, NEW).reseal(owner(1), sealed)]) {
      expect(() => vaultWith(OLD, NEW).open(owner(1), THERE, held)).toThrow(
        expect.objectContaining({
          code: 'bmc_login_failed',
          message: expect.stringMatching(/is for the BMC at 10\.0\.10\.50, but the BMC address is now 10\.0\.10\.51:/),
        }),
      );
    }
  });

  it('refuses a text whose address was changed in the store', () => {
    const vault = vaultWith(OLD);
    const parts = vault.seal(owner(1), HERE, new Secret('hunter2')).split('.');
    const moved = parts.with(2, Buffer.from(THERE).toString('base64url')).join('.') as SealedText;
    expect(() => vault.open(owner(1), THERE, moved)).toThrow('was modified, or was sealed for another owner');
  });

  it('refuses a text that was modified at any position', () => {
    const vault = vaultWith(OLD);
    const sealed = vault.seal(owner(1), HERE, new Secret('a secret of some length'));
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom(...letters), (at, letter) => {
        const changed = `${sealed.slice(0, at)}${letter}${sealed.slice(at + 1)}` as SealedText;
        // The last base64url character may contain unused bits.
        fc.pre(!sameBytes(changed, sealed));
        expect(() => vault.open(owner(1), HERE, changed)).toThrow(/^the bmc-password of node 0{8}-.*(was|is not)/);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a text that was truncated at any length', () => {
    const vault = vaultWith(OLD);
    const sealed = vault.seal(owner(1), HERE, new Secret('a secret'));
    for (let length = 0; length < sealed.length; length++) {
      const truncated = sealed.slice(0, length) as SealedText;
      if (!sameBytes(truncated, sealed))
        expect(() => vault.open(owner(1), HERE, truncated), truncated).toThrow(/of node/);
    }
  });

  it('names the missing key, and the file it should be in', () => {
    const sealed = vaultWith(OLD).seal(owner(1), HERE, new Secret('x'));
    expect(() => vaultWith(NEW).open(owner(1), HERE, sealed)).toThrow(
      expect.objectContaining({
        code: 'vault_unavailable',
        message: expect.stringMatching(/was sealed with the key [0-9a-f]{16}, which vault-key does not have$/),
      }),
    );
  });

  it('seals with the newest key and opens with the older ones, for key rotation', () => {
    const before = vaultWith(OLD);
    const sealed = before.seal(owner(1), HERE, new Secret('x'));
    const during = vaultWith(`# made in January`, OLD, '', NEW);
    expect(text(during.open(owner(1), HERE, sealed))).toBe('x');
    expect([before.isFresh(sealed), during.isFresh(sealed)]).toEqual([true, false]);
    const again = during.reseal(owner(1), sealed);
    expect(during.isFresh(again)).toBe(true);
    expect(text(vaultWith(NEW).open(owner(1), HERE, again))).toBe('x');
  });
});

const bytesOf = (sealed: string): string => {
  const [version, key, ...parts] = sealed.split('.');
  return [version, key, ...parts.map((part) => Buffer.from(part, 'base64url').toString('hex'))].join('.');
};
const sameBytes = (a: string, b: string): boolean => bytesOf(a) === bytesOf(b);
