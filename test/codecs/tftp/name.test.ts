import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sanitizeTftpName } from '../../../appliance/codecs/tftp/name.ts';

describe('a requested file name', () => {
  it.each([
    ['undionly.kpxe', 'undionly.kpxe'],
    ['/grub/grub.cfg', 'grub/grub.cfg'],
    ['\\boot\\BCD', 'boot/BCD'],
    ['boot\\x64\\wdsnbp.com', 'boot/x64/wdsnbp.com'],
    ['//secboot///shimx64.efi', 'secboot/shimx64.efi'],
    ['./pxelinux.cfg/./default', 'pxelinux.cfg/default'],
    ['/boot/%2e%2e/x', 'boot/%2e%2e/x'],
    ['0a4d0032/..start.elf', '0a4d0032/..start.elf'],
    ['päckchen.efi', 'päckchen.efi'],
  ])('%j is looked up as %j', (name, expected) => {
    expect(sanitizeTftpName(name)).toEqual({ ok: true, value: expected });
  });

  it.each([
    ['../etc/passwd', 'leaves its directory'],
    ['boot/../../etc/passwd', 'leaves its directory'],
    ['boot\\..\\..\\etc\\passwd', 'leaves its directory'],
    ['boot/..', 'leaves its directory'],
    ['C:\\boot\\bcd', 'drive letter'],
    ['/c:/boot/bcd', 'drive letter'],
    ['boot\0.efi', 'control character at position 4'],
    ['boot\n.efi', 'control character'],
    ['', 'does not name a file'],
    ['/', 'does not name a file'],
    ['.\\.', 'does not name a file'],
  ])('%j is rejected: %s', (name, reason) => {
    expect(sanitizeTftpName(name)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  it('is relative, free of "..", and unchanged by a second pass', () => {
    const nasty = fc
      .array(fc.constantFrom('/', '\\', '.', '..', 'a', 'C:', '\0', '%2e', 'Boot'))
      .map((p) => p.join(''));
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string()), (name) => {
        const cleaned = sanitizeTftpName(name);
        if (!cleaned.ok) return;
        expect(cleaned.value).not.toMatch(/^[/\\]|\\|\/\/|^[a-z]:/i);
        expect(cleaned.value.split('/')).not.toContain('..');
        expect(sanitizeTftpName(cleaned.value)).toEqual(cleaned);
      }),
    );
  });
});
