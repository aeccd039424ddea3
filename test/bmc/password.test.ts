import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newPassword } from '../../appliance/bmc/password.ts';

const random = (count: number): Uint8Array => Uint8Array.from(randomBytes(count));
const text = (length?: number): string => new TextDecoder().decode(newPassword(random, length).reveal());

describe('a new password', () => {
  it('fits every BMC, has every character class, starts with a letter, and is safe in shells', () => {
    for (let count = 0; count < 500; count++) {
      const password = text();
      expect(password).toMatch(/^[a-zA-Z][a-zA-Z2-9._+=-]{15}$/);
      for (const kind of [/[a-z]/, /[A-Z]/, /[2-9]/, /[._+=-]/]) expect(password).toMatch(kind);
    }
  });

  it('has the requested length', () => {
    expect(text(20)).toHaveLength(20);
  });

  it('is unique', () => {
    expect(new Set(Array.from({ length: 1000 }, () => text())).size).toBe(1000);
  });

  it('uses every character about equally often', () => {
    const counts = new Map<string, number>();
    for (let count = 0; count < 4000; count++) {
      for (const character of text().slice(1)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    // 61 characters, some 980 of each; the rule of one of each class favours the small classes a little.
    expect(counts.size).toBe(61);
    expect(Math.min(...counts.values())).toBeGreaterThan(700);
    expect(Math.max(...counts.values())).toBeLessThan(1700);
  });
});
