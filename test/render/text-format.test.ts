import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TEXT_FORMATS } from '../../appliance/render/text-format.ts';
import { grubCommands } from '../boot/replies/grub-shell-model.ts';
import { ipxeCommands } from '../boot/replies/ipxe-shell-model.ts';

const { ipxe, grub } = TEXT_FORMATS;
const EXPANSION = '$'.concat('{net0/mac}');

/** Words and signs that are special to one of the shells, in any order, among arbitrary text. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom('||', '&&', ';', '#', '#!ipxe', '${', '}', '$', '\\', '"', "'", ' ', '\n', '\r', '\0', '\t'),
      fc.constantFrom(':', '-', '--', '|', '&', '{', EXPANSION, 'goto', 'chain', '\\\n', 'é', '\u2028', '<', '>'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

const sound = fc.string({ unit: fc.constantFrom(...'abcXYZ019-._:/=,+@%?&;|#"\'<>()[]!*~^`'), minLength: 1 });

const CONTROL_CHARACTERS = [...Array(32).keys(), 127].map((code) => String.fromCharCode(code));

/** Values that are accepted unless something is inserted into them, at any position including both ends. */
const accepted = sound.filter((value) => ipxe.literal(value).ok && grub.literal(value).ok);
const withInside = (...intruders: readonly string[]) =>
  fc.tuple(accepted, fc.constantFrom(...intruders), fc.nat()).map(([value, intruder, place]) => {
    const at = place % (value.length + 1);
    return value.slice(0, at) + intruder + value.slice(at);
  });

/** Enough of them are accepted to make the properties below meaningful. */
const mixed = fc.oneof(
  hostile,
  sound,
  fc.tuple(sound, hostile).map((parts) => parts.join('')),
);

describe('a value in an iPXE script', () => {
  it('is exactly one word, or is rejected', () => {
    fc.assert(
      fc.property(mixed, mixed, (first, second) => {
        fc.pre([first, second].map(ipxe.literal).every((made) => made.ok));
        const commands = ipxeCommands(`kernel ${first} x=${second} ${second}${first} end || goto failed\nboot\n`);
        expect(commands.map(({ words }) => words)).toEqual([
          ['kernel', first, `x=${second}`, `${second}${first}`, 'end'],
          ['goto', 'failed'],
          ['boot'],
        ]);
      }),
      { numRuns: 2000 },
    );
  });

  it('is unchanged when it is plain: names, URLs and kernel parameters', () => {
    for (const value of [
      'node01',
      'http://10.0.0.1:8080/boot/x?a=1&b=2',
      'ds=nocloud;s=http://h/',
      'init=/nix/store/a-b/init',
    ]) {
      expect(ipxe.literal(value)).toEqual({ ok: true, value });
    }
    fc.assert(
      fc.property(sound, (value) => {
        fc.pre(!/^[#-]/.test(value) && !/^[|&;]+$/.test(value));
        expect(ipxe.literal(value)).toEqual({ ok: true, value });
      }),
    );
  });

  it.each([
    ['any control character', withInside(...CONTROL_CHARACTERS)],
    ['a separate line', withInside('\n#!ipxe\n', '\r\nshell\r\n', '\nchain http://elsewhere/\n')],
    ['the beginning of an expansion', withInside('${', '$', '{')],
    ['an expansion', withInside(EXPANSION)],
    ['a backslash, which would join lines', withInside('\\', '\\\n')],
  ])('is rejected wherever it has %s', (_what, values) => {
    fc.assert(
      fc.property(values, (value) => {
        expect(ipxe.literal(value).ok).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('is rejected when it has more than 500 characters', () => {
    fc.assert(
      fc.property(accepted, fc.integer({ min: 501, max: 2000 }), (value, length) => {
        const long = value.repeat(length).slice(0, length);
        expect(ipxe.literal(long).ok).toBe(false);
        expect(ipxe.literal(long.slice(0, 500)).ok).toBe(true);
      }),
    );
  });

  it('is rejected when it starts like a script, and is one word when it only contains such text', () => {
    fc.assert(
      fc.property(withInside('#!', '#!ipxe'), (value) => {
        const made = ipxe.literal(value);
        if (value.startsWith('#')) expect(made.ok).toBe(false);
        if (!made.ok) return;
        expect(ipxeCommands(`kernel ${made.value} end\nboot\n`).map(({ words }) => words)).toEqual([
          ['kernel', value, 'end'],
          ['boot'],
        ]);
      }),
      { numRuns: 1000 },
    );
    expect(ipxe.literal('a#!ipxe').ok).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['a space', 'a b'],
    ['a line feed', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['a NUL', 'a\0b'],
    ['an escape character', 'a\x1bb'],
    ['a character outside ASCII', 'a\u00e9'],
    ['an expansion', EXPANSION],
    ['a part of an expansion', '{net0/mac}'],
    ['a shebang', '#!ipxe'],
    ['an option', '--autofree'],
    ['an operator', '||'],
    ['a part of an operator', '&'],
    ['a backslash', 'a\\'],
    ['501 characters', 'a'.repeat(501)],
  ])('is rejected when it has %s', (_what, value) => {
    expect(ipxe.literal(value).ok).toBe(false);
  });
});

describe('text on the screen of iPXE', () => {
  it('never ends the echo, whatever it is', () => {
    fc.assert(
      fc.property(hostile, hostile, (first, second) => {
        const line = `echo Reason: ${ipxe.shown(first)} (${ipxe.shown(second)})`;
        const commands = ipxeCommands(`${line}\nexit\n`);
        expect(commands).toHaveLength(2);
        expect(commands[0]?.words.join(' ')).toBe(line);
        expect(commands[0]?.words.slice(0, 2)).toEqual(['echo', 'Reason:']);
      }),
      { numRuns: 2000 },
    );
  });

  it('is one line without an expansion, wherever either was inserted', () => {
    const intruders = [...CONTROL_CHARACTERS, '${', EXPANSION, '\n#!ipxe\n', '\\\n'];
    fc.assert(
      fc.property(withInside(...intruders), (value) => {
        expect(ipxe.shown(value)).toMatch(/^[ -#%-[\]-z|~]{1,300}$/);
      }),
      { numRuns: 1000 },
    );
  });

  it('stays readable, is ASCII and is limited in length', () => {
    expect(ipxe.shown('node01 failed (deploy: no disk), so it boots from its own disk')).toBe(
      'node01 failed (deploy: no disk), so it boots from its own disk',
    );
    expect(ipxe.shown(`Gerät || ${EXPANSION} # weg`)).toBe('Ger?t ? ?(net0/mac) ? weg');
    expect(ipxe.shown('word '.repeat(500)).length).toBe(300);
    expect(ipxe.shown('-n gone')).toBe('?n gone');
    expect(ipxe.shown('\n\t')).toBe('?');
  });
});

describe('a value in a GRUB configuration', () => {
  it('is exactly one word, or is rejected', () => {
    fc.assert(
      fc.property(mixed, mixed, (first, second) => {
        const [one, two] = [grub.literal(first), grub.literal(second)];
        fc.pre(one.ok && two.ok);
        if (!one.ok || !two.ok) return;
        const commands = grubCommands(`linux ${one.value} x=${two.value} ${two.value}${one.value}\nboot\n`);
        expect(commands).toEqual([['linux', first, `x=${second}`, `${second}${first}`], ['boot']]);
      }),
      { numRuns: 2000 },
    );
  });

  it('never ends the echo when it is for the screen', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const commands = grubCommands(`echo Reason: ${grub.shown(value)}\nexit\n`);
        expect(commands).toHaveLength(2);
        expect(commands[0]).toHaveLength(3);
        expect(commands[1]).toEqual(['exit']);
      }),
      { numRuns: 2000 },
    );
  });

  it('is rejected wherever it has a control character, a quote or a variable', () => {
    fc.assert(
      fc.property(withInside(...CONTROL_CHARACTERS, "'", '$', EXPANSION), (value) => {
        expect(grub.literal(value).ok).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it.each(["it's", '$prefix', 'a\nb', 'a\0b', ''])('is rejected when it is %j', (value) => {
    expect(grub.literal(value).ok).toBe(false);
  });
});
