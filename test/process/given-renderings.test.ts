// The appliance records what each machine received, for every kind of system: `render --diff` compares with that.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bzImage } from '../assets/tiny-files.ts';
import { ServingProcess, type SiteFolder } from './appliance.ts';
import { machineOf, serviceOsSite } from './service-os-site.ts';

const NETBOOT = '#!ipxe\nkernel bzImage init=/nix/store/abc-nixos/init loglevel=4\ninitrd initrd\nboot\n';

describe('render --diff', () => {
  let site: SiteFolder;
  let serving: ServingProcess;

  beforeEach(() => {
    site = serviceOsSite();
    const nixos = { bzImage: bzImage(1), initrd: '070701', 'netboot.ipxe': NETBOOT };
    const folder = join(site.state, 'assets/nixos/nix');
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(nixos)) writeFileSync(join(folder, name), text);
    change('role: worker, enrollment: manual }', 'role: worker, enrollment: manual, storage: {} }');
  });
  afterEach(async () => {
    await serving.end('SIGKILL');
    site.remove();
  });

  const change = (before: string, after: string): void => {
    const text = site.read('coldiron.yaml');
    expect(text).toContain(before);
    site.write('coldiron.yaml', text.replace(before, after));
  };
  const verb = (...args: string[]): string => {
    const run = site.run(...args);
    expect(run.status, run.stderr).toBe(0);
    return run.stdout;
  };
  const changed = (): string[] =>
    JSON.parse(verb('render', 'node01', '--diff', '--json')).files.map(({ path }: { path: string }) => path);

  it.each([
    ['debian', ['user-data'], ['user-data']],
    ['nix', ['flake.tar', 'secrets.tar'], ['nodes/node01/configuration.nix']],
  ])(
    'shows nothing after %s was installed, and only the edit after an edit of the inventory',
    async (profile, files, edited) => {
      change('    sku: gp1\n    profile: debian\n', `    sku: gp1\n    profile: ${profile}\n`);
      serving = await new ServingProcess(site.path).up();
      const machine = machineOf(serving);
      verb('commission', 'node01');
      await machine.boot();
      await machine.facts();
      await machine.outcome(true);
      verb('deploy', 'node01', '--yes');
      expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'install' } });
      await machine.facts();
      for (const name of files) expect(await machine.file(name)).toMatchObject({ status: 200 });
      expect(await machine.outcome(true)).toMatchObject({ status: 200 });
      expect(changed()).toEqual([]);

      await serving.end('SIGTERM');
      change('    serial: S-1\n', '    serial: S-1\n    packages: [tcpdump]\n');
      serving = await new ServingProcess(site.path).up();
      expect(changed()).toEqual(edited);
      expect(verb('render', 'node01', '--diff')).toMatch(/^\+.*tcpdump/m);
    },
  );
});
