import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../appliance/domain/errors.ts';
import { canonicalJson, type Json } from '../../appliance/domain/event.ts';
import {
  type ApiToken,
  isUsable,
  mayActAs,
  parseTokenText,
  ROLES,
  type TokenId,
} from '../../appliance/domain/token.ts';

describe('a token', () => {
  const text = `ci_0123456789ab_${'A'.repeat(43)}`;

  it('is parsed from its text, and the reason never contains an invalid one', () => {
    expect(parseTokenText(text)).toEqual({ ok: true, value: { id: '0123456789ab', secret: 'A'.repeat(43) } });
    for (const wrong of ['', 'hunter2', text.slice(1), `${text}A`, text.replace('_', '-')]) {
      const result = parseTokenText(wrong);
      expect(result.ok).toBe(false);
      if (!result.ok && wrong) expect(result.reason).not.toContain(wrong);
    }
  });

  it('is usable until it expires or is revoked', () => {
    const token: ApiToken = {
      id: 'a' as TokenId,
      name: 'ci',
      role: 'viewer',
      createdAt: 0,
      expiresAt: 10,
      revokedAt: null,
    };
    expect(isUsable(token, 9)).toBe(true);
    expect(isUsable(token, 10)).toBe(false);
    expect(isUsable({ ...token, expiresAt: null }, 1e15)).toBe(true);
    expect(isUsable({ ...token, revokedAt: 5 }, 6)).toBe(false);
  });
});

describe('a role', () => {
  it('includes the rights of lower roles; node is separate', () => {
    const allowed = ROLES.flatMap((held) =>
      ROLES.filter((needed) => mayActAs(held, needed)).map((n) => `${held}>${n}`),
    );
    expect(allowed).toEqual([
      'viewer>viewer',
      'agent>viewer',
      'agent>agent',
      'tech>viewer',
      'tech>agent',
      'tech>tech',
      'operator>viewer',
      'operator>agent',
      'operator>tech',
      'operator>operator',
      'admin>viewer',
      'admin>agent',
      'admin>tech',
      'admin>operator',
      'admin>admin',
      'node>node',
    ]);
  });
});

describe('canonical JSON', () => {
  it('is one text per value, independent of the key order, and parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value as Json);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
    expect(canonicalJson({ b: 1, a: { d: 2, c: [3, null] } })).toBe('{"a":{"c":[3,null],"d":2},"b":1}');
  });
});

describe('the error table', () => {
  it('gives every code a status, an exit code and a hint', () => {
    for (const [code, kind] of Object.entries(ERRORS)) {
      expect(kind.status, code).toBeGreaterThanOrEqual(400);
      expect(kind.exit, code).toBeGreaterThan(0);
      expect(kind.hint.length, code).toBeGreaterThan(20);
    }
  });
});
