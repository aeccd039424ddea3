import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseSshKeyLine } from '../../../../appliance/domain/ssh-key.ts';
import { makeEphemeralKey } from '../../../../appliance/provisioning/installers/nixos/ephemeral-key.ts';
import { temporaryFolder } from '../../../assets/tiny-files.ts';
import { needPackages } from '../../../interop/packages.ts';

beforeAll(() => needPackages(['openssh-client']));

describe('the key of a deployment', () => {
  it('is a pair that OpenSSH reads, whatever the length of its comment', () => {
    const folder = temporaryFolder();
    for (let length = 0; length < 20; length += 1) {
      const { authorizedKey, privateKey } = makeEphemeralKey('n'.repeat(length));
      const file = `${folder}/key-${length}`;
      writeFileSync(file, privateKey.reveal(), { mode: 0o600 });
      const { stdout, stderr } = spawnSync('/usr/bin/ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' });
      expect(stdout.trim(), stderr).toBe(authorizedKey.trim());
      expect(parseSshKeyLine(authorizedKey)).toMatchObject({ ok: true });
    }
  });

  it('is new each time, and never shows its private half', () => {
    const [one, other] = [makeEphemeralKey('x'), makeEphemeralKey('x')];
    expect(one.authorizedKey).not.toBe(other.authorizedKey);
    expect(`${inspect(one)} ${JSON.stringify(one)}`).not.toContain('PRIVATE KEY');
  });
});
