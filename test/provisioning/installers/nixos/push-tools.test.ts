import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { probePushTools, readNixVersion } from '../../../../appliance/provisioning/installers/nixos/push-tools.ts';
import { put, temporaryFolder } from '../../../assets/tiny-files.ts';

function program(folder: string, name: string, script: string, mode = 0o755): void {
  chmodSync(put(folder, name, `#!/bin/sh\n${script}\n`), mode);
}

describe('the tools of a push', () => {
  it.each([
    ['nix (Nix) 2.16.0', '2.16.0'],
    ['nix (Nix) 2.31.2\n', '2.31.2'],
    ['nix (Nix) 3.0.0pre20260101_abc', '3.0.0pre20260101_abc'],
    ['nix (Lix, like Nix) 2.91.0', '2.91.0'],
    ['nix (Determinate Nix 3.6.2) 2.29.0', '2.29.0'],
  ])('takes %j', (text, version) => {
    expect(readNixVersion(text)).toEqual({ ok: true, value: version });
  });

  it.each([
    ['nix (Nix) 2.8.0', 'nix is 2.8.0, but must be 2.16 or newer'],
    ['nix (Nix) 1.99', 'nix is 1.99, but must be 2.16 or newer'],
    ['hello', 'cannot read the version of nix: hello'],
    ['', 'cannot read the version of nix: '],
  ])('refuses %j', (text, reason) => {
    expect(readNixVersion(text)).toEqual({ ok: false, reason });
  });

  it('are found on the path', async () => {
    const folder = temporaryFolder();
    program(folder, 'nix', 'echo "nix (Nix) 2.18.1"');
    program(folder, 'ssh', '');
    program(folder, 'nixos-anywhere', '');
    expect(await probePushTools(`/nonexistent:${folder}`)).toEqual({
      ok: true,
      value: { nixosAnywhere: join(folder, 'nixos-anywhere'), nixVersion: '2.18.1' },
    });
  });

  it('are listed where they are missing, with the alternative', async () => {
    const folder = temporaryFolder();
    expect(await probePushTools(folder)).toEqual({
      ok: false,
      reason:
        'this appliance cannot push NixOS: nix is not on its PATH; nixos-anywhere is not on its PATH; ssh is not on its PATH. Set install: pull in its profile instead',
    });
    program(folder, 'nix', 'echo "nix (Nix) 2.8.0"');
    program(folder, 'nixos-anywhere', '', 0o644);
    program(folder, 'ssh', '');
    expect(await probePushTools(folder)).toEqual({
      ok: false,
      reason:
        'this appliance cannot push NixOS: nix is 2.8.0, but must be 2.16 or newer; nixos-anywhere is not on its PATH. Set install: pull in its profile instead',
    });
  });

  it('fail without a hang when nix fails', async () => {
    const folder = temporaryFolder();
    program(folder, 'nix', 'exit 3');
    expect(await probePushTools(folder)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('cannot read the version of nix: Command failed'),
    });
  });

  it('are not searched in the current folder', async () => {
    expect(await probePushTools('.:')).toMatchObject({ ok: false });
  });
});
