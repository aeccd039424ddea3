import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineReader } from '../../../appliance/bmc/console/line-reader.ts';
import { plainLine } from '../../../appliance/domain/plain-line.ts';
import { captured, linesOf, linesOfText } from './captured-console.ts';

describe('lines of a console', () => {
  it.each<[string, string, string[]]>([
    ['end with CR LF', 'one\r\ntwo\r\n', ['one', 'two']],
    ['end with LF', 'one\ntwo\n', ['one', 'two']],
    ['are not blank', '\r\n\r\n  \r\none\r\n', ['one']],
    ['are ended by the end of the console', 'login: ', ['login:']],
    ['are overwritten after CR', '10%\r50%\r100%\r\n', ['100%']],
    ['are overwritten after backspaces', 'initrd... 54%\b\b\b\b    \b\b\b\b ok\r\n', ['initrd... ok']],
    ['have no colours', '\u001b[0;32m  OK  \u001b[0m] Reached \u001b[0;1;39mx\u001b[0m\r\n', ['  OK  ] Reached x']],
    ['have no titles', '\u001b]0;owned\u0007a\u001b]52;c;AAAA\u001b\\b\r\n', ['ab']],
    ['are not swallowed by a title without an end', '\u001b]0;owned\r\nnext\r\n', ['next']],
    ['are not swallowed by a sequence without an end', '\u001b[31\r\nnext\r\n', ['next']],
    ['are erased', 'wrong\u001b[2K\rright\r\nlonger\r\u001b[Kx\r\n', ['right', 'x']],
    ['have tabs as blanks', 'a\tb\r\n', ['a       b']],
    [
      'end where the cursor leaves them',
      '\u001b[2J\u001b[01;01HBoot\u001b[3;5HMenu\u001b[4;1HExit',
      ['Boot', '    Menu', 'Exit'],
    ],
    ['are drawn once', '\u001b[3;1HEntry\u001b[4;1H5s\u001b[3;1HEntry\u001b[4;1H4s\u001b[5;1H', ['Entry', '5s', '4s']],
    [
      'end at a reset',
      'Probing EDD... o\u001bc\u001b[?7l\u001b[2J[    0.000000] Linux',
      ['Probing EDD... o', '[    0.000000] Linux'],
    ],
    ['may be in UTF-8', 'Starting systemd-udev-trig… - ü\r\n', ['Starting systemd-udev-trig… - ü']],
  ])('%s', (_name, text, lines) => {
    expect(linesOfText(text)).toEqual(lines);
    expect(linesOfText(text, 1)).toEqual(lines);
  });

  it('that firmware breaks at the edge of the screen are joined', () => {
    const long = 'x'.repeat(70);
    expect(linesOfText(`${long} 12345678\r\n9succeeded\r\n`)).toEqual([`${long} 12345678`, '9succeeded']);
    expect(linesOfText(`${long} 123456789\r\nsucceeded\r\n`)).toEqual([`${long} 123456789succeeded`]);
    expect(linesOfText(`${long} 123456789\r\n[    0.1] kernel\r\n`)).toEqual([`${long} 123456789`, '[    0.1] kernel']);
    expect(linesOfText(`${long} 123456789\r\n\r\nnext\r\n`)).toEqual([`${long} 123456789`, 'next']);
  });

  it('without an end are split, and never in the middle of a word', () => {
    const secret = 'Q0ldirOnSampleTicketForTheConsoleTests_0123';
    for (let before = 970; before <= 1030; before++) {
      const lines = linesOfText(`${'. '.repeat(before / 2)}=${secret} rest\n`);
      expect(lines.some((line) => line.includes(secret))).toBe(true);
    }
    expect(linesOfText('y'.repeat(5000)).join('')).toBe('y'.repeat(5000));
  });

  it('of noise become a count', () => {
    expect(linesOf(Uint8Array.from({ length: 60 }, (_, at) => 0x80 + (at % 60)))).toEqual([
      '[60 bytes that are no text]',
    ]);
    expect(linesOfText('dev-mqueue.mount\u00ff\u0001POSIX')).toEqual(['dev-mqueue.mountÿ\ufffdPOSIX']);
  });

  it('of recorded machines', () => {
    const grub = linesOf(captured('ovmf-grub-kernel'));
    expect(grub).toContain('Welcome to GRUB!');
    expect(grub).toContain('error: no suitable video mode found.');
    expect(linesOf(captured('seabios-ipxe-no-address')).slice(0, 4)).toEqual([
      'SeaBIOS (version 1.16.2-debian-1.16.2-1)',
      'Machine UUID c01d1407-0000-4000-8000-000000000002',
      'iPXE (http://ipxe.org) 00:02.0 C000 PCI2.10 PnP PMM+2EFCF0A0+2EF0F0A0 C000',
      'Booting from ROM...',
    ]);
    expect(linesOf(captured('seabios-ipxe-no-address'))).toContain(
      'Configuring (net0 52:54:00:77:00:02).................. No configuration methods succeeded (http://ipxe.org/040ee119)',
    );
    expect(linesOf(captured('systemd'))).toContain('[  OK  ] Created slice system-getty.slice - Slice /system/getty.');
  });
});

describe('a reader', () => {
  it('shows the prompt that is not ended', () => {
    const reader = new LineReader();
    const sink = { line: () => undefined, firmwareScreen: () => undefined };
    reader.read(Buffer.from('one\r\n\u001b[1mgrub rescue> \u001b[0m'), sink);
    expect(reader.unfinished).toBe('grub rescue>');
  });

  it('reports the screen of a firmware', () => {
    const screens: string[] = [];
    const sink = { line: () => undefined, firmwareScreen: () => void screens.push('screen') };
    new LineReader().read(captured('ovmf-ipxe-kernel'), sink);
    expect(screens.length).toBeGreaterThan(0);
  });

  it('says the same however the bytes are cut', () => {
    for (const name of ['ovmf-ipxe-kernel', 'ovmf-grub-kernel', 'systemd', 'kernel-panic', 'seabios-no-device']) {
      const whole = linesOf(captured(name), 1e6);
      for (const piece of [1, 2, 3, 7, 64]) expect(linesOf(captured(name), piece)).toEqual(whole);
    }
  });

  const pieces = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .constantFrom(
        '\u001b[',
        '\u001b]',
        '\u001bP',
        '\u001b[1;1H',
        '\u001b[2J',
        '\u001b[999999999C',
        '\u001b[99999;99999H',
        '\r',
        '\n',
        '\u009b6n',
        '\u202e',
        '\u001b[A',
      )
      .map((text) => Buffer.from(text, 'utf8')),
    fc.string({ maxLength: 50 }).map((text) => Buffer.from(text, 'utf8')),
  );

  it('makes clean, bounded lines of any bytes', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), fc.integer({ min: 1, max: 100 }), (parts, piece) => {
        const bytes = Buffer.concat(parts);
        const lines = linesOf(bytes, piece);
        for (const line of lines) {
          expect(plainLine(line)).toBe(line);
          expect(line.trim()).not.toBe('');
          expect(line.length).toBeLessThanOrEqual(2048 + 1024);
        }
        // Padding is bounded too: a cursor far to the right makes no text of its own.
        expect(lines.length).toBeLessThanOrEqual(bytes.length + 1);
      }),
    );
  });
});
