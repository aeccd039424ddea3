// Advertised = served, by its own word: the appliance fetches every boot file from itself, over TFTP and HTTP.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { ROOT, ServingProcess, SiteFolder } from './appliance.ts';

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

  it('is whole when every file comes over TFTP and HTTP as the library has it', async () => {
    serving = await new ServingProcess(site.path).up();
    expect(serving.where('tftp')).toMatch(/^127\.0\.0\.1:\d+$/);
    const run = site.run('check', '--json');
    expect(run.status, run.stderr).toBe(0);
    const { boot_chain } = JSON.parse(run.stdout);
    expect(boot_chain.problems).toEqual([]);
    expect(boot_chain.missing.map(({ file }: { file: string }) => file)).toContain('shimx64.efi');
    expect(serving.stderr).not.toContain('boot files that they do not get');
  });

  it('is broken, and said so, when what comes is not what the library has read', async () => {
    // As if the disk had changed it since: neither its size nor its time tells.
    const index = join(site.state, 'assets/index.json');
    const { files, ...rest } = JSON.parse(readFileSync(index, 'utf8'));
    const spoilt = { ...files, 'ipxe.efi': { ...files['ipxe.efi'], sha256: '0'.repeat(64) } };
    writeFileSync(index, JSON.stringify({ ...rest, files: spoilt }));
    serving = await new ServingProcess(site.path).up();
    await expect.poll(() => serving?.stderr).toContain('boot files that they do not get');
    const run = site.run('check');
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain('ipxe.efi over HTTP: ');
    expect(run.stderr).toContain('ipxe.efi over TFTP from 127.0.0.1: ');
    expect(run.stderr).not.toContain('snponly.efi');
  });

  it('is judged from the files alone when nothing runs: a program of the wrong kind is named', () => {
    writeFileSync(
      join(site.state, 'assets/loader/ipxe.efi'),
      readFileSync(join(site.state, 'assets/loader/undionly.kpxe')),
    );
    const run = site.run('assets', 'verify');
    expect(run.status).not.toBe(0);
    expect(run.stderr + run.stdout).toContain('ipxe.efi');
  });
});
