// `nix flake check` with Debian's Nix, the strictest about flakes that we know of: our own flake and the
// flake of a site, with a stub for nixpkgs.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Evaluated, inFolder, mustEvaluate, REPOSITORY, siteFiles } from '../../render/nixos/nix-evaluation.ts';
import { SAMPLE_PLANS } from '../../render/plans.ts';
import { needPackages } from '../packages.ts';

let folder = '';
beforeAll(() => {
  needPackages(['nix-bin']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-flake-'));
  const nixpkgs = join(folder, 'nixpkgs');
  cpSync(join(import.meta.dirname, 'stub-nixpkgs'), nixpkgs, { recursive: true });
  cpSync(join(REPOSITORY, 'test/render/nixos/mini-lib.nix'), join(nixpkgs, 'mini-lib.nix'));
  for (const [input, module] of [
    ['disko', 'disko'],
    ['sops-nix', 'sops'],
  ] as const) {
    mkdirSync(join(folder, input));
    writeFileSync(
      join(folder, input, 'flake.nix'),
      `{ inputs.nixpkgs.url = "nixpkgs"; outputs = { self, nixpkgs }: { nixosModules.${module} = { }; }; }`,
    );
  }
  const own = join(folder, 'own');
  for (const name of ['flake.nix', 'nixos', 'package.json', 'package-lock.json', 'boot-assets/service-os'])
    cpSync(join(REPOSITORY, name), join(own, name), { recursive: true });
  for (const name of ['appliance', 'inventory', 'templates']) mkdirSync(join(own, name));
});
afterAll(() => {
  // Nix makes files in its store read-only.
  spawnSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true, force: true });
});

function check(flake: string, inputs: readonly string[]) {
  const overrides = inputs.flatMap((input) => ['--override-input', input, `path:${join(folder, input)}`]);
  const { status, stderr } = spawnSync(
    '/usr/bin/nix',
    [
      ...['--extra-experimental-features', 'nix-command flakes', '--offline', '--store', join(folder, 'store')],
      ...['flake', 'check', '--no-build', '--no-write-lock-file', ...overrides, `path:${flake}`],
    ],
    { encoding: 'utf8', env: { ...process.env, HOME: folder } },
  );
  return { ok: status === 0, error: stderr };
}

describe('nix flake check', () => {
  it('accepts our own flake', () => {
    expect(check(join(folder, 'own'), ['nixpkgs'])).toMatchObject({ ok: true });
  });

  it.each<[what: string, from: string, to: string, error: string]>([
    ['an overlay of another form', 'final: _prev:', 'final: _previous:', "an argument named 'prev'"],
    ['a module that is a path', '{ imports = [ path ]; }', 'path', 'module must be'],
    ['a package that is not there', 'appliance/package.nix', 'appliance/pakage.nix', 'pakage.nix'],
  ])('finds %s', (_what, from, to, error) => {
    const changed = join(folder, 'changed');
    cpSync(join(folder, 'own'), changed, { recursive: true });
    const text = readFileSync(join(REPOSITORY, 'flake.nix'), 'utf8');
    expect(text).toContain(from);
    writeFileSync(join(changed, 'flake.nix'), text.replaceAll(from, to));
    const outcome = check(changed, ['nixpkgs']);
    rmSync(changed, { recursive: true });
    expect(outcome.ok).toBe(false);
    expect(outcome.error).toContain(error);
  });

  it('accepts the flake of a site, with stubs instead of its network inputs', () => {
    const { controlPlane, worker, bonded, allInOne } = SAMPLE_PLANS;
    inFolder(siteFiles([controlPlane, worker, bonded]), (site) =>
      expect(check(site, ['nixpkgs', 'disko'])).toMatchObject({ ok: true }),
    );
    inFolder(siteFiles([controlPlane, allInOne]), (site) =>
      expect(check(site, ['nixpkgs', 'disko', 'sops-nix'])).toMatchObject({ ok: true }),
    );
  });
});

describe('the packages of the lock file', () => {
  const files = (isAarch64: boolean): Record<string, Evaluated> => {
    const found = mustEvaluate(`let
        made = import ${REPOSITORY}/nixos/appliance/npm-packages.nix {
          lib = import ${REPOSITORY}/test/render/nixos/mini-lib.nix;
          cacert = "/cacert";
          nodejs = "/nodejs";
          stdenv.hostPlatform.isAarch64 = ${isAarch64};
          writeText = _: text: builtins.fromJSON text;
          linkFarm = _: builtins.foldl' (all: file: all // { \${file.name} = file.path; }) { };
          runCommand = name: { outputHash, ... }: script: "/store/\${outputHash}";
        };
      in made ${REPOSITORY}`);
    if (typeof found !== 'object' || found === null || Array.isArray(found)) throw new Error('not a set');
    return found;
  };

  interface Locked {
    readonly integrity: string;
    readonly resolved: string;
    readonly dev?: boolean;
    readonly dependencies?: Record<string, string>;
    readonly devDependencies?: Record<string, string>;
  }
  const lockOf = (text: Evaluated | undefined): Record<string, Locked> => JSON.parse(JSON.stringify(text)).packages;

  it('are all present as files, each with its own hash, and nothing else is requested', () => {
    const found = files(false);
    const original = lockOf(JSON.parse(readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8')));
    const { '': root, ...packages } = lockOf(found['package-lock.json']);
    expect(Object.keys(packages).length).toBeGreaterThan(50);
    for (const [path, { integrity, resolved, dev, dependencies }] of Object.entries(packages)) {
      expect(resolved, path).toBe(`file:/store/${integrity}`);
      expect(dev, path).toBeUndefined();
      const required = Object.keys(dependencies ?? {});
      expect(
        required.filter((name) => !Object.keys(packages).some((one) => one.endsWith(`node_modules/${name}`))),
      ).toEqual([]);
      expect(required, path).toEqual(Object.keys(original[path]?.dependencies ?? {}));
    }
    expect(root?.devDependencies).toBeUndefined();
    const manifest = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
    const { node: _node, ...dependencies } = manifest.dependencies;
    expect(root?.dependencies).toEqual(dependencies);
    expect(JSON.parse(JSON.stringify(found['package.json'])).dependencies).toEqual(dependencies);
  });

  it('are those for the platform that it is built for', () => {
    const native = (isAarch64: boolean) =>
      Object.keys(lockOf(files(isAarch64)['package-lock.json'])).filter((path) => path.includes('/koffi-'));
    expect(native(false)).toEqual(['node_modules/@koromix/koffi-linux-x64']);
    expect(native(true)).toEqual(['node_modules/@koromix/koffi-linux-arm64']);
  });
});
