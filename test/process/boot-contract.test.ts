// Advertised = served, verified by the appliance: it fetches every boot file from itself, over TFTP and HTTP.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bzImage, kernelImage, PE_MACHINE, peFile, put } from '../assets/tiny-files.ts';
import { needPackages } from '../interop/packages.ts';
import { coldiron, ROOT, ServingProcess, SiteFolder } from './appliance.ts';

const SITE = `listen: { boot: 127.0.0.1:0, management: 127.0.0.1:0, tftp: 127.0.0.1:0 }
inventory: [${join(ROOT, 'inventory/example.yaml')}]
`;

describe('the boot chain', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;

  beforeEach(() => {
    needPackages(['ipxe']);
    site = new SiteFolder(SITE);
    const built = site.run('assets', 'build', 'undionly.kpxe', 'ipxe.efi', 'snponly.efi');
    expect(built.status, built.stderr).toBe(0);
  });
  afterEach(async () => {
    await serving?.end('SIGKILL');
    serving = null;
    site.remove();
  });

  it('is complete when every file arrives over TFTP and HTTP as in the library', async () => {
    serving = await new ServingProcess(site.path).up();
    expect(serving.where('tftp')).toMatch(/^127\.0\.0\.1:\d+$/);
    const run = site.run('check', '--json');
    expect(run.status, run.stderr).toBe(0);
    const { boot_chain } = JSON.parse(run.stdout);
    expect(boot_chain.problems).toEqual([]);
    expect(boot_chain.missing.map(({ file }: { file: string }) => file)).toContain('shimx64.efi');
    expect(serving.stderr).not.toContain('some advertised boot files are not served');
  });

  it('has a damaged file noticed at once, from any folder, and the restored one, too', async () => {
    serving = await new ServingProcess(site.path).up();
    const boot = serving.where('boot');
    const management = new URL('/health', serving.where('management'));
    const elsewhere = (...args: string[]) => coldiron([...args, '--state', site.state], { cwd: '/' });
    expect(elsewhere('check')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Warning: \d+ boot files are missing: .*images\/service-os-x86_64\/kernel/),
    });
    const file = join(site.state, 'assets/loader/snponly.efi');
    const sound = readFileSync(file);
    // Its beginning is right.
    writeFileSync(file, sound.subarray(0, sound.length - 4096));
    await expect
      .poll(async () => (await fetch(management)).json())
      .toMatchObject({
        status: 'degraded',
        problems: ['boot-file-damaged'],
      });
    const run = elsewhere('check');
    expect(run.status).toBe(5);
    expect(run.stdout).toMatch(/^Problem: the boot file snponly\.efi is damaged: it has changed since it was taken/m);
    expect(run.stdout).toContain(`(it has ${sound.length - 4096} of ${sound.length} bytes)`);
    const [, next = ''] = /^ {2}next: coldiron (.*)$/m.exec(run.stdout) ?? [];
    await expect.poll(() => serving?.stderr).toMatch(/"level":40,.*the boot file snponly\.efi is damaged/);
    expect(coldiron(next.split(' '), { cwd: '/' }).status, next).toBe(0);
    // No wait: the verb returns when the appliance has read the new file.
    expect(await (await fetch(management)).text()).toContain('{"status":"healthy","services":');
    const served = await fetch(new URL('/boot/loader/snponly.efi', boot));
    expect(Buffer.from(await served.arrayBuffer()).equals(sound)).toBe(true);
  });

  it('has damaged files named without an appliance, too, and does not call them missing', () => {
    writeFileSync(join(site.state, 'assets/loader/snponly.efi'), 'garbage');
    const run = site.run('check');
    expect(run.status).toBe(5);
    expect(run.stdout).toMatch(/^Problem: the boot file snponly\.efi is damaged: it must be an EFI program/m);
    expect(JSON.parse(site.run('check', '--json').stdout)).toMatchObject({ ok: false });
  });

  it('is reported as broken when a served file differs from the library', async () => {
    // As if the disk had changed it: size and time are unchanged.
    const index = join(site.state, 'assets/index.json');
    const { files, ...rest } = JSON.parse(readFileSync(index, 'utf8'));
    const spoilt = { ...files, 'ipxe.efi': { ...files['ipxe.efi'], sha256: '0'.repeat(64) } };
    writeFileSync(index, JSON.stringify({ ...rest, files: spoilt }));
    serving = await new ServingProcess(site.path).up();
    await expect.poll(() => serving?.stderr).toContain('some advertised boot files are not served');
    const run = site.run('check');
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain('ipxe.efi over HTTP: ');
    expect(run.stderr).toContain('ipxe.efi over TFTP from 127.0.0.1: ');
    expect(run.stderr).not.toContain('snponly.efi');
  });

  it('is checked from the files alone without an appliance: a program of the wrong type is named', () => {
    writeFileSync(
      join(site.state, 'assets/loader/ipxe.efi'),
      readFileSync(join(site.state, 'assets/loader/undionly.kpxe')),
    );
    const run = site.run('assets', 'verify');
    expect(run.status).not.toBe(0);
    expect(run.stderr + run.stdout).toContain('ipxe.efi');
  });
});

const SECURE_SITE = `listen: { boot: 127.0.0.1:0, management: 127.0.0.1:0, tftp: 127.0.0.1:0 }
sites: [{ name: lab }]
networks:
  - { name: here, prefix: 127.0.0.0/8, server: 127.0.0.1, dhcp: off, unknown: ignore, secure_boot: true }
profiles: [{ name: worker, kind: nixos, architectures: [x86_64] }]
`;

describe('the boot chain of machines with GRUB', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;
  const shelve = (name: string, bytes: Uint8Array | string): string => put(site.state, `assets/${name}`, bytes);

  beforeEach(() => {
    site = new SiteFolder(SECURE_SITE);
    for (const name of ['shimx64.efi', 'grubx64.efi']) shelve(`loader/${name}`, peFile(PE_MACHINE.x86_64));
    for (const name of ['shimaa64.efi', 'grubaa64.efi']) shelve(`loader/${name}`, peFile(PE_MACHINE.arm64));
    shelve('images/service-os-x86_64/kernel', bzImage(1));
    shelve('images/service-os-arm64/kernel', kernelImage(PE_MACHINE.arm64, 'ARM\x64'));
    for (const folder of ['images/service-os-x86_64', 'images/service-os-arm64', 'nixos/worker']) {
      shelve(`${folder}/initrd`, '070701');
    }
    shelve('nixos/worker/bzImage', bzImage(1));
  });
  afterEach(async () => {
    await serving?.end('SIGKILL');
    serving = null;
    site.remove();
  });

  const chain = () => {
    const run = site.run('check', '--json');
    return run.status === 0 ? JSON.parse(run.stdout).boot_chain : { problems: [run.stdout + run.stderr], missing: [] };
  };

  it('is complete with kernels, initrds and scripts over TFTP, and leaves no event behind', async () => {
    serving = await new ServingProcess(site.path).up();
    expect(chain().problems).toEqual([]);
    expect(serving.stderr).not.toContain('some advertised boot files are not served');
    const token = readFileSync(join(site.state, 'admin-token'), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${serving.where('management')}/events?limit=1000`, { headers });
    const { events } = (await answer.json()) as { events: { kind: string }[] };
    expect(events.length).toBeGreaterThan(0);
    expect(events.filter(({ kind }) => /^(?:tftp|http|boot|trail)\./.test(kind))).toEqual([]);
  });

  it('is checked with kernels without an appliance, and with the profiles of the site', () => {
    shelve('images/service-os-arm64/kernel', bzImage(1));
    shelve('nixos/worker/bzImage', kernelImage(PE_MACHINE.arm64, 'ARM\x64'));
    const [words] = chain().problems;
    expect(words).toContain('images/service-os-arm64/kernel is advertised to arm64');
    expect(words).toContain('nixos/worker/bzImage is advertised to x86_64');
  });

  it('is checked again when the inventory changes, while the appliance runs', async () => {
    shelve('nixos/arm/bzImage', bzImage(1));
    shelve('nixos/arm/initrd', '070701');
    serving = await new ServingProcess(site.path).up();
    expect(serving.stderr).not.toContain('some advertised boot files are not served');
    const more = site.write('more.yaml', 'profiles: [{ name: arm, kind: nixos, architectures: [arm64] }]\n');
    expect(site.run('apply', more).status).toBe(0);
    const running = serving;
    await expect.poll(() => running.stderr + running.stdout).toMatch(/nixos\/arm\/bzImage is advertised to arm64/);
  });
});
