// The built service OS in a virtual machine with a TPM (swtpm), a USB medium and a clock that is decades behind: the kernel unpacks the
// authorities that were appended to the initrd, and the session is opened over TLS by the TPM.

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { placeAuthority } from '../../../appliance/assets/service-os/authority.ts';
import { secretMedium } from '../../../appliance/provisioning/media/medium-image.ts';
import { FakeSession, fakeAuthority } from '../../assets/fake-session.ts';
import { needPackages } from '../../interop/packages.ts';
import { LAST_RESORT_MS } from './fair-clock.ts';
import { bootWithWords, MAC, SERVER, serviceOs } from './service-os-machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'coldiron-identity-'));
const image = join(folder, 'images/service-os-x86_64');

beforeAll(async () => {
  needPackages(['qemu-system-x86', 'swtpm', 'tpm2-tools']);
  mkdirSync(image, { recursive: true });
  await serviceOs(image);
}, LAST_RESORT_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The options of QEMU for its device. */
async function startTpm(): Promise<readonly string[]> {
  const state = mkdtempSync(join(folder, 'tpm-'));
  const socket = join(state, 'control');
  const child = spawn(
    'swtpm',
    ['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--ctrl', `type=unixio,path=${socket}`],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await expect.poll(() => existsSync(socket), { timeout: 30_000 }).toBe(true);
  return [
    ...['-chardev', `socket,id=tpm-control,path=${socket}`, '-tpmdev', 'emulator,id=tpm0,chardev=tpm-control'],
    ...['-device', 'tpm-tis,tpmdev=tpm0'],
  ];
}

/** As a BMC presents it: an optical drive on USB. */
function medium(secret: Buffer): readonly string[] {
  const file = join(folder, 'medium.iso');
  writeFileSync(file, secretMedium(secret, Date.now()));
  return [
    ...['-device', 'qemu-xhci', '-drive', `if=none,id=medium,media=cdrom,readonly=on,format=raw,file=${file}`],
    ...['-device', 'usb-storage,drive=medium,removable=on'],
  ];
}

describe('the service OS in a machine with a TPM', () => {
  it(
    'verifies the appliance with the authority in its initrd, and opens its session with the TPM',
    async () => {
      const authority = fakeAuthority([SERVER]);
      expect(await placeAuthority(folder, authority.pem)).toEqual(['images/service-os-x86_64/initrd']);
      const session = new FakeSession({ authority, identity: 'tpm', next: 'power-off' });
      await session.listen();
      onTestFinished(() => session.close());
      const secret = randomBytes(32);
      const words = [
        ...[`coldiron.server=http://${SERVER}:1`, 'coldiron.mode=inspect', `coldiron.session=${session.url(SERVER)}`],
        ...[`coldiron.time=${Math.floor(Date.now() / 1000)}`, 'coldiron.node=node05'],
      ];
      const hardware = ['-rtc', 'base=2001-01-01', ...(await startTpm()), ...medium(secret)];
      const os = { kernel: join(image, 'kernel'), initrd: join(image, 'initrd') };
      const machine = bootWithWords(os, session.port, words, { extra: hardware });
      onTestFinished(() => machine.powerOff());
      await machine.ended();
      const said = machine.story('');
      expect(session.introduction, said).toMatchObject({
        ...{ mac: MAC, macs: [MAC], tpm_error: null, tpm: { ek: [{}, {}], quote: { pcrs: {} } } },
        media: createHash('sha256').update(secret).digest('hex'),
      });
      expect(session.outcome, said).toMatchObject({ ok: true });
      expect(machine.console.text).toContain('clock: set to the time of the appliance');
      expect(machine.console.text).toMatch(/TPM: endorsement keys ecc rsa; PCR 0-7 quoted; \d+\.\d+ seconds/);
      expect(machine.console.text).toContain('identity: the TPM of this machine opened the session');
    },
    LAST_RESORT_MS,
  );
});
