// Values in files that other programs read: the program reads back the same value, or the value is rejected.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { Parsed } from '../../appliance/domain/parsed.ts';
import { TEXT_FORMATS } from '../../appliance/render/text-format.ts';
import { needPackages } from '../interop/packages.ts';
import { hostileText } from './nixos/plan-arbitrary.ts';

const { json, yaml, nix, shell, env, unit, zone, hosts, nftables } = TEXT_FORMATS;

const anyText = fc.oneof(
  hostileText,
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'no', '1:30', '0x1f', '~', '-'),
);
const data = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    anyText,
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('set'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  set: fc.dictionary(
    anyText.filter((key) => key !== '__proto__'),
    tie('value'),
    { maxKeys: 4 },
  ),
})).value;

const reasonOf = (made: Parsed<string>): string => (made.ok ? '' : made.reason);

/** Rejected only because no file can contain it. */
const hasNoPlace = (value: unknown): boolean => /\\u0000|\\ud[89a-f]/.test(JSON.stringify(value));

describe('plain data', () => {
  it('round-trips through JSON', () => {
    fc.assert(
      fc.property(data, (value) => {
        const made = json.literal(value);
        if (made.ok) expect(JSON.parse(made.value)).toEqual(value);
        else expect(hasNoPlace(value), made.reason).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('round-trips through YAML, within a document', () => {
    fc.assert(
      fc.property(data, (value) => {
        const made = yaml.literal(value);
        if (made.ok) expect(load(`a: ${made.value}\nb:\n  - ${made.value}\n`)).toEqual({ a: value, b: [value] });
        else expect(hasNoPlace(value), made.reason).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('round-trips through the YAML parser of cloud-init and Ansible', () => {
    needPackages(['python3-yaml']);
    const values = fc.sample(data, 300);
    const sound = values.flatMap((value) => {
      const made = yaml.literal(value);
      return made.ok ? [{ value, text: `a: ${made.value}\n` }] : [];
    });
    expect(sound.length).toBeGreaterThan(100);
    const script =
      'import json, sys, yaml; print(json.dumps([yaml.safe_load(text)["a"] for text in json.load(sys.stdin)]))';
    const { stdout, stderr } = spawnSync('python3', ['-c', script], {
      input: JSON.stringify(sound.map(({ text }) => text)),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(sound.map(({ value }) => value));
  });

  it.each([
    ['DEL', '\u007f', '\\u007f'],
    ['NEL, a line break in YAML 1.1', '\u0085', '\\u0085'],
    ['the last C1 control character', '\u009f', '\\u009f'],
    ['LS, a line break in YAML 1.1', '\u2028', '\\u2028'],
    ['PS, a line break in YAML 1.1', '\u2029', '\\u2029'],
    ['a byte order mark', '\ufeff', '\\ufeff'],
    ['a noncharacter', '\uffff', '\\uffff'],
  ])('has %s escaped in YAML, in texts and in keys', (_what, character, escaped) => {
    expect(yaml.literal(`a${character}b`)).toEqual({ ok: true, value: `"a${escaped}b"` });
    expect(yaml.literal({ [character]: 1 })).toEqual({ ok: true, value: `{"${escaped}": 1}` });
  });

  it.each(['assert', 'else', 'if', 'in', 'inherit', 'let', 'or', 'rec', 'then', 'with'])(
    'has the Nix keyword %s in quotes where it is a key',
    (keyword) => {
      expect(nix.literal({ [keyword]: 1 })).toEqual({ ok: true, value: `{ "${keyword}" = 1; }` });
      expect(nix.literal({ [`${keyword}s`]: 1 })).toEqual({ ok: true, value: `{ ${keyword}s = 1; }` });
    },
  );

  it('is rejected with the path inside the value', () => {
    expect(reasonOf(json.literal({ a: [{ b: undefined }] }))).toBe('.a[0].b is not plain data');
    expect(reasonOf(yaml.literal({ a: 1.5, b: '\0' }))).toBe(
      '.a is not a safe integer; .b has the character U+0000, which this format cannot contain',
    );
    const circle: unknown[] = [];
    circle.push(circle);
    expect(reasonOf(json.literal(circle))).toContain('is nested more than 32 deep');
    expect(reasonOf(yaml.literal({ ['k'.repeat(1001)]: 1 }))).toContain('a key of more than 1000 characters');
  });
});

/** The arguments of `say` in a script, as the shell splits them. */
function shellArguments(program: string, script: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-shell-'));
  try {
    const file = join(folder, 'script');
    writeFileSync(file, `say() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${script}`);
    const { stdout, stderr } = spawnSync(program, [file], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\0').slice(0, -1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('a value in a shell script', () => {
  it.each(['dash', 'bash'])('is one word for %s, whatever it is', (program) => {
    const values = [
      '',
      '4 kB '.repeat(820),
      '-n',
      '😀',
      ...fc.sample(anyText, 300).filter((text) => shell.literal(text).ok),
    ];
    const script = values
      .map((value) => `x=${literalOf(shell.literal(value))}; say "$x" ${literalOf(shell.literal(value))}`)
      .join('\n');
    expect(shellArguments(program, script)).toEqual(values.flatMap((value) => [value, value]));
  });

  it('is a text, a number or a boolean, and not a list, which would be several words', () => {
    expect(shell.literal(7)).toEqual({ ok: true, value: "'7'" });
    expect(shell.literal(true)).toEqual({ ok: true, value: "'true'" });
    expect(shell.literal(['a']).ok).toBe(false);
    expect(shell.literal('\0').ok).toBe(false);
  });
});

describe('a value in a file of environment variables', () => {
  it('is the same for a shell and for systemd, or is rejected', () => {
    const values = fc.sample(anyText, 400).filter((text) => env.literal(text).ok);
    expect(values.length).toBeGreaterThan(100);
    const script = values.map((value) => `X=${literalOf(env.literal(value))}\nsay "$X"`).join('\n');
    expect(shellArguments('dash', script)).toEqual(values);
    for (const value of values) expect(systemdValue(literalOf(env.literal(value)))).toBe(value);
  });

  it.each(['a\nb', 'a\rb', 'a\0b', 'a\u007fb', 'a\u0085b', 'a\u009fb', 'a\u2028b', 'a\u2029b'])(
    'is rejected when it is %j',
    (value) => {
      expect(env.literal(value).ok).toBe(false);
    },
  );

  /** systemd's parse_env_file_internal() for a value in double quotes. */
  function systemdValue(text: string): string {
    expect(text).toMatch(/^".*"$/);
    return text.slice(1, -1).replace(/\\(.)/g, (all, next: string) => ('"\\`$'.includes(next) ? next : all));
  }
});

describe('a value in a unit of systemd', () => {
  it('is one word after quotes, escapes and specifiers, or is rejected', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const made = unit.literal(value);
        if (!made.ok) return;
        expect(made.value).not.toMatch(/[\n\r]/);
        expect(unitWords(`${made.value} end`)).toEqual([value, 'end']);
      }),
      { numRuns: 1000 },
    );
    expect(unit.literal('50% of "it" \\ all')).toEqual({ ok: true, value: '"50%% of \\"it\\" \\\\ all"' });
    for (const bad of ['a\nb', '$HOME', 'a\0']) expect(unit.literal(bad).ok).toBe(false);
  });

  it('never ends its line or contains a specifier when it is shown', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const shown = unit.shown(value);
        expect(shown).toMatch(/^[\x20-\x7e]*$/);
        expect(shown.replaceAll('%%', '')).not.toContain('%');
        expect(shown).not.toMatch(/\\$/);
      }),
    );
  });

  /** systemd.syntax(7): words by white space, quotes at the start of a word, C escapes inside, then specifiers. */
  function unitWords(line: string): string[] {
    const words = line.match(/"(?:[^"\\]|\\.)*"(?=\s|$)|\S+/g) ?? [];
    return words.map((word) =>
      (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word).replaceAll('%%', '%'),
    );
  }
});

describe('a value in a zone file', () => {
  it.each(['node01', 'node01.example.com.', '10.0.0.1', '_ntp._udp', '*.apps', '0/25.2.0.192.in-addr.arpa.', '@', 42])(
    'may be %j',
    (value) => {
      expect(zone.literal(value)).toEqual({ ok: true, value: String(value) });
    },
  );

  it.each([
    '',
    'a b',
    'a;b',
    '$INCLUDE',
    'a..b',
    '.a',
    '-a',
    'a-',
    'a"b',
    'a\nb',
    `${'a'.repeat(64)}.b`,
    'é',
    '(',
    '@.a',
    null,
    ['a'],
  ])('may not be %j', (value) => {
    expect(zone.literal(value).ok).toBe(false);
  });

  it('is at most 255 bytes in each pair of quotes when it is a TXT record', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string({ minLength: 250, maxLength: 600 })), (value) => {
        const made = zone.shown(value);
        expect(made).toMatch(/^"[\x20-\x7e]*"( "[\x20-\x7e]*")*$/);
        const strings = [...made.matchAll(/"((?:[^"\\]|\\\d{3})*)"/g)].map(([, inner = '']) =>
          Buffer.concat(
            [...inner.matchAll(/\\(\d{3})|(.)/g)].map(([, code, plain]) =>
              Buffer.from(code === undefined ? [plain?.charCodeAt(0) ?? 0] : [Number(code)]),
            ),
          ),
        );
        expect(strings.every(({ length }) => length <= 255)).toBe(true);
        expect(Buffer.concat(strings)).toEqual(Buffer.from(new TextEncoder().encode(value)));
      }),
    );
  });
});

describe('a value in a hosts file or a firewall', () => {
  it('is an address or a name, or is rejected', () => {
    for (const good of ['10.0.0.1', 'node01.example.com', '2001:db8::1'])
      expect(hosts.literal(good)).toEqual({ ok: true, value: good });
    for (const bad of ['', 'a b', 'a#b', 'a\nb', '-a', 'é', 7, null]) expect(hosts.literal(bad).ok).toBe(false);
  });

  it('is a number, an address or a quoted string for nft, and a list is a set', () => {
    expect(nftables.literal([53, 80])).toEqual({ ok: true, value: '{ 53, 80 }' });
    expect(nftables.literal('10.0.0.0/8')).toEqual({ ok: true, value: '10.0.0.0/8' });
    expect(nftables.literal('eth0')).toEqual({ ok: true, value: '"eth0"' });
    for (const bad of [[], '', 'a"b', 'a\\b', 'a\nb', -1, 1.5, [['a']], 'x'.repeat(129)])
      expect(nftables.literal(bad).ok).toBe(false);
  });
});

function literalOf(made: Parsed<string>): string {
  if (!made.ok) throw new Error(made.reason);
  return made.value;
}
