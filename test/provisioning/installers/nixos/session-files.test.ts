import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../../../../appliance/assets/template-files.ts';
import { nixosSessionFile } from '../../../../appliance/provisioning/installers/nixos/session-files.ts';
import { installedFiles } from '../../../../appliance/render/bundle/installed-files.ts';
import type { NodePlan } from '../../../../appliance/render/node-plan.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { compileTemplates } from '../../../../appliance/render/templates.ts';
import { machineIn } from '../../../boot/boot-fixtures.ts';
import { sampleBundle } from '../../../render/bundle/sample-bundle.ts';
import { SAMPLE_PLANS } from '../../../render/plans.ts';

const TEMPLATES = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));
const MACHINE = machineIn('deploying');
const PLAN: NodePlan = { ...SAMPLE_PLANS.controlPlane, enrollment: 'first-boot' };
const KEY: RenderedFile = { path: 'secrets/node01-key.pem', text: 'a key\n', mode: 0o600, secret: true };

function rig() {
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
  it('issue no key and no token for the flake, which has none', async () => {
    const { file, made } = rig();
    const flake = await file('flake.tar');
    expect(listed(flake).join('\n')).toMatch(/flake\.nix[\s\S]*configuration\.nix/);
    expect(flake?.text).not.toContain('a key');
    expect(made).toEqual([]);
  });

  it('issue service keys and the token of the node only when they are requested', async () => {
    const { file, made } = rig();
    const names = listed(await file('secrets.tar'));
    expect(made).toEqual([`certificate for machine:${MACHINE.spec.hostname}`, 'token']);
    expect(names.find((line) => line.endsWith('etc/nixos/secrets/node01-key.pem'))).toMatch(/^-rw-------/);
    expect(names.find((line) => line.endsWith('etc/coldiron/node-agent.env'))).toMatch(/^-rw-------/);
    expect(names.find((line) => line.endsWith('opt/coldiron/node-agent/node-agent'))).toMatch(/^-rwxr-xr-x/);
  });

  it('have no token for a node that is enrolled by hand', async () => {
    const { file, made } = rig();
    expect(listed(await file('secrets.tar', { ...PLAN, enrollment: 'manual' })).join()).not.toContain('node-agent');
    expect(made).not.toContain('token');
  });

  it('have no file of another name', async () => {
    expect(await rig().file('user-data')).toBeNull();
    expect(await rig().file('disk-key')).toBeNull();
  });
});
