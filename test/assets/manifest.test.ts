import { describe, expect, it } from 'vitest';
import { readManifests } from '../../appliance/assets/manifest.ts';
import { advertisedFiles } from '../../appliance/boot/loaders.ts';
import { put, temporaryFolder } from './tiny-files.ts';

const SUM = 'a'.repeat(64);

describe('the manifest of boot files', () => {
  it('has only loaders that a boot rule can name, with their architecture', async () => {
    const advertised = new Map(advertisedFiles().map(({ tftpName, cpu }) => [tftpName, cpu]));
    const entries = await readManifests(null);
    expect(entries.length).toBeGreaterThan(5);
    for (const { name, architecture } of entries) expect(advertised.get(name)).toBe(architecture);
  });

  it('lists the checksum of each loader by package version, and its licence', async () => {
    for (const { name, licence, source } of await readManifests(null)) {
      const sums = source.kind === 'debian' ? [...(source.sums ?? [])] : [];
      expect(sums.length, name).toBeGreaterThan(0);
      for (const [version, sum] of sums) expect(`${version} ${sum}`).toMatch(/^\d\S* [0-9a-f]{64}$/);
      expect(licence, name).toMatch(/\S/);
    }
  });

  it('adds the entries of a site, which replace built-in entries of the same name', async () => {
    const file = put(
      temporaryFolder(),
      'extra.yaml',
      `loaders:
  - { name: ipxe.efi, architecture: x86_64, firmware: efi, source: { url: "http://10.0.0.1/ipxe.efi", sha256: ${SUM} } }
files:
  - { name: images/debian/linux, url: "http://10.0.0.1/linux", sha256: ${SUM} }
`,
    );
    const entries = await readManifests(file);
    expect(entries.filter(({ name }) => name === 'ipxe.efi').map(({ source }) => source.kind)).toEqual(['url']);
    expect(entries.at(-1)).toMatchObject({ name: 'images/debian/linux', source: { sha256: SUM } });
  });

  it.each([
    ['two files', ['linux', 'linux'], ['images/debian/linux: is declared twice']],
    ['three files', ['linux', 'initrd', 'linux', 'linux'], Array(2).fill('images/debian/linux: is declared twice')],
  ])('rejects %s of the same name in one document', async (_, names, expected) => {
    const files = names.map((name) => `  - { name: images/debian/${name}, url: "http://10.0.0.1/", sha256: ${SUM} }\n`);
    const file = put(temporaryFolder(), 'extra.yaml', `files:\n${files.join('')}`);
    await expect(readManifests(file)).rejects.toMatchObject({
      code: 'invalid_config',
      details: expected.map((problem) => `${file}: ${problem}`),
    });
  });

  it("lists every problem of a site's manifest, with its place", async () => {
    const file = put(
      temporaryFolder(),
      'extra.yaml',
      `loaders:
  - { name: ../ipxe.efi, architecture: x86_64, firmware: efi, source: { debian: ipxe, path: /boot/ipxe.efi } }
  - { name: a.efi, architecture: sparc, firmware: efi, source: { url: "ftp://x", sha256: 12 } }
  - { name: b.efi, architecture: x86_64, firmware: efi, source: { debian: ipxe } }
  - { name: images/b.efi, architecture: x86_64, firmware: efi, source: { debian: ipxe, path: /b } }
  - { name: c.efi, architecture: x86_64, firmware: efi, source: { debian: ipxe, path: /c }, sha256: { 1.0-1: abc } }
  - name: d.efi
    architecture: x86_64
    firmware: efi
    source: { url: "http://10.0.0.1/d", sha256: ${SUM} }
    sha256: { 1.0-1: ${SUM} }
files:
  - { name: kernel, url: "http://10.0.0.1/linux", sha256: ${SUM} }
`,
    );
    const problems = await readManifests(file).catch((error) => error.details as string[]);
    expect(problems).toEqual([
      expect.stringContaining('loaders[1].architecture: must be one of x86_64'),
      expect.stringContaining('loaders[1].source.url: must be an http or https URL'),
      expect.stringContaining('loaders[1].source.sha256: must be text, is a number'),
      expect.stringContaining('loaders[4].sha256.1.0-1: must be 64 hexadecimal digits'),
      expect.stringContaining('loaders[0].name: not the name of a boot file'),
      expect.stringContaining('loaders[1].source: must be either debian and path, or url and sha256'),
      expect.stringContaining('loaders[2].source: must be either debian and path, or url and sha256'),
      expect.stringContaining('loaders[3].name: the name of a loader must not start with nixos/ or images/'),
      expect.stringContaining('loaders[5].sha256: a file with a URL has its sha256 in source'),
      expect.stringContaining('files[0].name: the name of a file must start with nixos/ or images/'),
    ]);
  });
});
