import { describe, expect, it } from 'vitest';
import { newTokenText } from '../../../appliance/api/api-token.ts';
import { ConsoleText } from '../../../appliance/bmc/console/console-text.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import { maskSecrets } from '../../../appliance/domain/secret-masks.ts';
import { newEnrollmentToken } from '../../../appliance/identity/token-text.ts';
import { newSessionSecret } from '../../../appliance/provisioning/sessions/session-secret.ts';
import { captured } from './captured-console.ts';

/** What it says, with `--` where a boot begins. */
function textOf() {
  const said: string[] = [];
  const text = new ConsoleText({ line: (line) => void said.push(line), bootBegins: () => void said.push('--') });
  let now = 0;
  return {
    said,
    text,
    print: (lines: string, after = SECOND) => {
      now += after;
      text.read(Buffer.from(lines), now);
    },
    expectBoot: () => text.expectBoot(now),
  };
}

describe('a secret', () => {
  const TICKET = 'Q0ldirOnSampleTicketForTheConsoleTests_0123';

  it('of the kernel command line is not shown', () => {
    const { said, text } = textOf();
    text.read(captured('ovmf-ipxe-kernel'), 0);
    const [line] = said.filter((one) => one.includes('Command line'));
    expect(line).toContain('coldiron.session=https://10.77.0.1:8444/boot/session/[secret] coldiron.time=');
    expect(said.join('\n')).not.toContain(TICKET);
  });

  it('is not shown while its line is not ended', () => {
    const { text, print } = textOf();
    for (const character of `linux kernel coldiron.session=https://10.0.0.1/boot/session/${TICKET}`)
      print(character, 0);
    expect(text.unfinished).toBe('linux kernel coldiron.session=https://10.0.0.1/boot/session/[secret]');
    print(`\rpassword=hunter2`);
    expect(text.unfinished).not.toContain('hunter2');
  });

  it('that the appliance issued is masked, whichever it is', () => {
    for (let round = 0; round < 200; round++) {
      for (const issued of [
        newSessionSecret().text,
        newTokenText(),
        Buffer.from(newEnrollmentToken().text.reveal()).toString(),
      ]) {
        const shown = maskSecrets(`cloud-init[312]: wrote ${issued} to the disk`);
        expect(shown).toMatch(/^cloud-init\[312\]: wrote \S+ to the disk$/);
        expect(shown).not.toContain(issued.slice(-20));
        expect(maskSecrets(`"${issued}"`)).not.toContain(issued.slice(-20));
        expect(maskSecrets(`https://10.0.0.1/x/${issued}/y`)).not.toContain(issued.slice(-20));
      }
    }
  });

  it('that firmware breaks at the edge of the screen is masked', () => {
    const { said, print } = textOf();
    const line = `chain http://10.0.0.1:8080/boot/session/${TICKET} and more`.padEnd(100, '.');
    print(`${line.slice(0, 80)}\r\n${line.slice(80)}\r\n`);
    expect(said.join('')).not.toContain(TICKET.slice(0, 20));
    expect(said.join('')).toContain('/boot/session/[secret]');
  });

  it.each([
    ['password=hunter2', 'password=[secret]'],
    ['root_password: "hunter2"', 'root_password: [secret]'],
    ['Authorization: Bearer abcdefghijklm', 'Authorization: Bearer [secret]'],
    ['fetch https://user:pass@example.org/x', 'fetch https://[secret]@example.org/x'],
    ['root:$6$saltsalt$hashhashhashhash:19000:', 'root:[secret]:19000:'],
    ['AGE-SECRET-KEY-1QQQQQQQQ', '[secret]'],
  ])('%s', (line, shown) => {
    expect(maskSecrets(line)).toBe(shown);
  });

  it.each([
    '256 SHA256:k3Jd8sK1mZpQw9xYtR5vB2nH7cF4gL6aD0eU1iO3sPE root@node01 (ED25519)',
    'Machine UUID c01d1407-0000-4000-8000-000000000002',
    '-------------------------------------------',
    '[    0.000000] BIOS-e820: [mem 0x0000000000100000-0x0000000000805fff] usable',
    '[  OK  ] Started systemd-ask-password-wall.path - Forward Password Requests to Wall',
  ])('is not seen in: %s', (line) => {
    expect(maskSecrets(line)).toBe(line);
  });

  it('in the form of a private key is masked line by line, and what follows is shown', () => {
    const { said, print } = textOf();
    print(
      '-----BEGIN OPENSSH PRIVATE KEY-----\r\nb3BlbnNzaC1rZXk\r\nAAAA\r\n-----END OPENSSH PRIVATE KEY-----\r\nnext\r\n',
    );
    expect(said).toEqual(['[secret]', '[secret]', '[secret]', '[secret]', 'next']);
    print(`-----BEGIN PRIVATE KEY-----\r\n${'noise\r\n'.repeat(500)}`);
    expect(said.filter((line) => line === 'noise').length).toBeGreaterThan(300);
  });
});

describe('a boot', () => {
  it('begins with the next line after a power command', () => {
    const { said, print, expectBoot } = textOf();
    print('old system\r\nunfinished');
    expectBoot();
    print('SeaBIOS (version 1)\r\nmore\r\n');
    expect(said).toEqual(['old system', 'unfinished', '--', 'SeaBIOS (version 1)', 'more']);
  });

  it('begins once, also when the old system prints something after the command', () => {
    const { said, print, expectBoot } = textOf();
    print('[    0.000000] Linux version 6.1\r\n');
    expectBoot();
    print('[   99.000000] shutting down\r\n');
    print('SeaBIOS (version 1)\r\n');
    print('[    0.000000] Linux version 6.1\r\n');
    expect(said.filter((line) => line === '--')).toHaveLength(1);
  });

  it('begins when the machine restarts by itself', () => {
    const { said, print } = textOf();
    print('SeaBIOS (version 1)\r\n[    0.000000] Linux version 6.1\r\nall is well\r\n');
    print('SeaBIOS (version 1)\r\n', 20 * SECOND);
    print('[    0.000000] Linux version 6.1\r\n');
    print('[    9.000000] reboot: Restarting system\r\n');
    print('>>Start PXE over IPv4.\r\n');
    expect(said.join('\n').split('--').length).toBe(4);
    expect(said.at(-2)).toBe('--');
  });

  it('begins with the screen of a UEFI firmware after a kernel', () => {
    const { said, print } = textOf();
    print('BdsDxe: starting Boot0002\r\n[    0.000000] Linux version 6.1\r\ncut off');
    print('\u001b[2J\u001b[01;01H\u001b[=3hBdsDxe: loading Boot0006\r\n');
    expect(said).toEqual([
      'BdsDxe: starting Boot0002',
      '[    0.000000] Linux version 6.1',
      'cut off',
      '--',
      'BdsDxe: loading Boot0006',
    ]);
  });

  it('does not begin with a kernel after its own loader', () => {
    const { said, text } = textOf();
    text.read(captured('ovmf-ipxe-kernel'), 0);
    expect(said).not.toContain('--');
  });
});
