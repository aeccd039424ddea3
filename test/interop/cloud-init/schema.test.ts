// Validates our output with cloud-init's own schema.

import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { renderCloudInit } from '../../../appliance/render/cloud-init/cloud-init.ts';
import { renderAutoinstall } from '../../../appliance/render/installers/autoinstall.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { CLOUD_INIT_CASES, INSTALLER_CASES, TEMPLATES } from '../../render/installers/samples.ts';
import { DebianRoot } from './debian-root.ts';

let debian: DebianRoot;
beforeAll(async () => {
  debian = await DebianRoot.prepare();
}, 1_800_000);

const textOf = (files: readonly RenderedFile[], path: string): string =>
  files.find((file) => file.path === path)?.text ?? '';

const validated = async (documents: Readonly<Record<string, string>>): Promise<string> => {
  const given = Object.fromEntries(Object.entries(documents).map(([name, text]) => [`/validated/${name}`, text]));
  const { output } = await debian.run(
    'for f in /validated/*; do cloud-init schema --config-file "$f" 2>&1 || true; done',
    given,
  );
  return output;
};

describe("cloud-init's schema", () => {
  it('accepts the user-data of every kind of machine', async () => {
    const documents = Object.fromEntries(
      CLOUD_INIT_CASES.map(([name, plan, extras]) => [
        name,
        textOf(renderCloudInit(plan, extras, TEMPLATES), 'user-data'),
      ]),
    );
    const lines = (await validated(documents)).trim().split('\n');
    expect(lines.sort()).toEqual(
      Object.keys(documents)
        .map((name) => `Valid cloud-config: /validated/${name}`)
        .sort(),
    );
  });

  it('accepts the first-boot user-data of an installed Ubuntu', async () => {
    const documents = Object.fromEntries(
      INSTALLER_CASES.autoinstall.map(([name, plan, extras]) => {
        const text = textOf(renderAutoinstall(plan, extras, TEMPLATES), 'user-data');
        const { autoinstall } = load(text) as { autoinstall: { 'user-data': object } };
        return [name, `#cloud-config\n${JSON.stringify(autoinstall['user-data'])}`];
      }),
    );
    const lines = (await validated(documents)).trim().split('\n');
    expect(lines.sort()).toEqual(
      Object.keys(documents)
        .map((name) => `Valid cloud-config: /validated/${name}`)
        .sort(),
    );
  });

  it('reports a mistake', async () => {
    expect(await validated({ wrong: '#cloud-config\nusers: []\nssh_pwauth: [1]\n' })).toMatch(
      /users: \[\] is too short/,
    );
  });
});
