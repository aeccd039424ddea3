import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../../../../appliance/assets/template-files.ts';
import { installedFiles } from '../../../../appliance/render/bundle/installed-files.ts';
import type { NodePlan } from '../../../../appliance/render/node-plan.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { compileTemplates } from '../../../../appliance/render/templates.ts';
import { nixosSessionFile } from '../../../../appliance/work/installers/nixos/session-files.ts';
import { machineIn } from '../../../boot/boot-fixtures.ts';
import { sampleBundle } from '../../../render/bundle/sample-bundle.ts';
import { SAMPLE_PLANS } from '../../../render/plans.ts';

const TEMPLATES = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));
const MACHINE = machineIn('deploying');
const PLAN: NodePlan = { ...SAMPLE_PLANS.controlPlane, enrollment: 'first-boot' };
const KEY: RenderedFile = { path: 'secrets/node01-key.pem', text: 'a key\n', mode: 0o600, secret: true };

function desk() {
  const made: string[] = [];
  const file = nixosSessionFile({
    templates: TEMPLATES,
    modules: readNodeModules,
    inspection: async () => null,
    serviceFiles: async (_machine, { actor }) => {
      made.push(`certificate for ${actor}`);
      return [KEY];
    },
    installedFiles: async () => {
      made.push('token');
      return installedFiles(sampleBundle(), '#!/bin/sh\n');
    },
  });
  return { made, file: (name: string, plan = PLAN) => file(MACHINE, plan, name) };
}

const listed = (archive: RenderedFile | null): string[] => {
  const tar = spawnSync('tar', ['-tvf', '-'], { input: archive?.text ?? '', encoding: 'utf8' });
  expect(tar.status, tar.stderr).toBe(0);
  return tar.stdout.trim().split('\n');
};

describe('the files of a NixOS installation', () => {
  it('the flake costs no key and no token, and holds none', async () => {
    const { file, made } = desk();
    const flake = await file('flake.tar');
    expect(listed(flake).join('\n')).toMatch(/flake\.nix[\s\S]*configuration\.nix/);
    expect(flake?.text).not.toContain('a key');
    expect(made).toEqual([]);
  });

  it('what is secret is made once it is asked for: keys of services, and what makes it a node', async () => {
    const { file, made } = desk();
    const names = listed(await file('secrets.tar'));
    expect(made).toEqual([`certificate for machine:${MACHINE.spec.hostname}`, 'token']);
    expect(names.find((line) => line.endsWith('etc/nixos/secrets/node01-key.pem'))).toMatch(/^-rw-------/);
    expect(names.find((line) => line.endsWith('etc/coldiron/node-agent.env'))).toMatch(/^-rw-------/);
    expect(names.find((line) => line.endsWith('opt/coldiron/node-agent/node-agent'))).toMatch(/^-rwxr-xr-x/);
  });

  it('a node that is enrolled by hand is given no token', async () => {
    const { file, made } = desk();
    expect(listed(await file('secrets.tar', { ...PLAN, enrollment: 'manual' })).join()).not.toContain('node-agent');
    expect(made).not.toContain('token');
  });

  it('there is no file of another name', async () => {
    expect(await desk().file('user-data')).toBeNull();
    expect(await desk().file('disk-key')).toBeNull();
  });
});
