import { describe, expect, it } from 'vitest';
import { Secret } from '../../../../appliance/domain/secret.ts';
import { nixosFiles, sessionFile } from '../../../../appliance/provisioning/installers/nixos/install-files.ts';
import {
  nixosOrder,
  nixosPlanProblems,
  ONCE_FILES,
} from '../../../../appliance/provisioning/installers/nixos/order.ts';
import { ustarArchive } from '../../../../appliance/provisioning/installers/nixos/ustar.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { nixosTemplates, nodeModules } from '../../../render/nixos/nix-evaluation.ts';
import { named, SAMPLE_PLANS } from '../../../render/plans.ts';

const plan = SAMPLE_PLANS.controlPlane;
const key: RenderedFile = { path: 'secrets/node01-key.pem', text: 'KEY', mode: 0o644, secret: true };
const files = (changes: Partial<Parameters<typeof nixosFiles>[0]> = {}) =>
  nixosFiles({
    plan,
    templates: nixosTemplates,
    modules: nodeModules,
    inspection: null,
    serviceFiles: [key],
    otherFiles: [{ path: 'etc/coldiron/node-agent.env', text: 'TOKEN', mode: 0o600, secret: true }],
    ...changes,
  });

describe('the files of an installation', () => {
  it('are a flake with only this node, and the files beside it', () => {
    const { flake, extraFiles } = files();
    const paths = flake.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['flake.nix', 'common/base.nix', `nodes/${plan.fqdn}/disko.nix`]));
    expect(new Set(paths.filter((path) => path.startsWith('nodes/')).map((path) => path.split('/')[1]))).toEqual(
      new Set([plan.fqdn]),
    );
    expect(extraFiles.map(({ path, mode }) => [path, mode])).toEqual([
      ['etc/nixos/secrets/cluster-config.json', 0o600],
      ['etc/nixos/secrets/node01-key.pem', 0o600],
      ['etc/coldiron/node-agent.env', 0o600],
    ]);
  });

  it('have no secret in the part that Nix copies into its store', () => {
    const text = files()
      .flake.map((file) => file.text)
      .join('\n');
    expect(text).not.toContain('KEY');
    expect(text).not.toContain('TOKEN');
  });
});

describe('the files of a session', () => {
  it('are the flake, and secrets marked as such', () => {
    const made = files();
    const flake = sessionFile('flake.tar', made, null);
    expect(Buffer.from(flake?.text ?? '', 'utf8')).toEqual(ustarArchive(made.flake));
    expect(flake).toMatchObject({ secret: false });
    const secrets = sessionFile('secrets.tar', made, null);
    expect(Buffer.from(secrets?.text ?? '', 'utf8')).toEqual(ustarArchive(made.extraFiles));
    expect(secrets).toMatchObject({ secret: true });
  });

  it('have a passphrase only where there is one, and nothing else', () => {
    expect(sessionFile('disk-key', files(), new Secret('correct horse'))).toMatchObject({
      text: 'correct horse',
      secret: true,
    });
    expect(sessionFile('disk-key', files(), null)).toBeNull();
    expect(sessionFile('../flake.tar', files(), null)).toBeNull();
  });
});

describe('the order', () => {
  it('to pull names the files and contains none of them', () => {
    expect(nixosOrder(plan, { way: 'pull' })).toEqual({
      mode: 'install',
      kind: 'nixos',
      node: 'node01',
      profile: 'control-plane',
      way: 'pull',
      flake: { file: 'flake.tar', attribute: 'node01' },
      secrets: 'secrets.tar',
      disk_key: null,
    });
    expect(ONCE_FILES).toEqual(['secrets.tar', 'disk-key']);
  });

  it('to pull has a passphrase where the disks are encrypted', () => {
    const storage = plan.storage && ({ ...plan.storage, layout: 'luks' } as const);
    expect(nixosOrder({ ...plan, storage }, { way: 'pull' })).toMatchObject({ disk_key: 'disk-key' });
  });

  it('to push has only the key of the appliance', () => {
    const authorizedKey = 'ssh-ed25519 AAAA coldiron-node01';
    expect(nixosOrder(plan, { way: 'push', authorizedKey })).toEqual({
      mode: 'install',
      kind: 'nixos',
      node: 'node01',
      profile: 'control-plane',
      way: 'push',
      authorized_keys: [authorizedKey],
    });
  });

  it('is refused for a plan of another kind, with every problem', () => {
    expect(nixosPlanProblems(plan)).toEqual([]);
    const image = { name: named('debian-12'), kind: 'cloud-image', role: null, image: null } as const;
    expect(nixosPlanProblems({ ...plan, profile: image, storage: null })).toEqual([
      'profile debian-12 is of kind cloud-image, not nixos',
      'profile debian-12 declares no storage, so no disk can be partitioned',
    ]);
  });
});
