// ISO 9660 volumes of the appliance, read by programs that we did not write. The kernel reads one in `test/lab/rack/service-os-identity.test.ts`.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isoVolume } from '../../../appliance/codecs/iso9660/volume.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { needPackages } from '../packages.ts';

const folder = mkdtempSync(join(tmpdir(), 'coldiron-iso9660-'));
beforeAll(() => needPackages(['file', 'genisoimage', 'util-linux', 'xorriso']));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, ...args: string[]): { readonly status: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
}

const MADE_AT = Date.UTC(2026, 10, 18, 1, 2, 3);
const FILES = [
  { name: 'SECRET', content: randomBytes(32) },
  { name: 'EMPTY', content: Buffer.alloc(0) },
  // Sorted as §9.3 says, `A.TXT` precedes `A1.TXT`; as text, it would not.
  { name: 'A1.TXT', content: randomBytes(5000) },
  { name: 'A.TXT', content: Buffer.from('one line\n') },
  ...Array.from({ length: 36 }, (_, index) => ({ name: `FILE${index}.BIN`, content: randomBytes(index * 100) })),
];

describe('a volume with as many files as fit', () => {
  const image = join(folder, 'medium.iso');
  beforeAll(() => writeFileSync(image, mustParse(isoVolume({ label: 'COLDIRON', files: FILES, madeAt: MADE_AT }))));

  it('is an ISO 9660 volume with its label for file and blkid', () => {
    expect(run('file', '--brief', image).text).toBe("ISO 9660 CD-ROM filesystem data 'COLDIRON'\n");
    expect(run('blkid', '-p', '-o', 'value', '-s', 'TYPE', '-s', 'LABEL', image).text).toBe('COLDIRON\niso9660\n');
  });

  it('is listed by isoinfo', () => {
    const { text } = run('isoinfo', '-d', '-i', image);
    expect(text).toContain('Volume id: COLDIRON');
    expect(text).toContain('Logical block size is: 2048');
    expect(text).toContain('NO Joliet present');
    const names = run('isoinfo', '-f', '-i', image).text.trim().split('\n').sort();
    expect(names).toEqual(FILES.map(({ name }) => `/${name.includes('.') ? name : `${name}.`};1`).sort());
    expect(run('isoinfo', '-l', '-i', image).text).toContain('Nov 18 2026');
  });

  it('is checked and extracted by xorriso without a complaint, byte for byte', () => {
    const into = join(folder, 'extracted');
    const quiet = ['-abort_on', 'WARNING', '-report_about', 'WARNING', '-osirrox', 'on', '-indev', `stdio:${image}`];
    const { status, text } = run('xorriso', ...quiet, '-extract', '/', into);
    expect(status, text).toBe(0);
    for (const { name, content } of FILES) expect(readFileSync(join(into, name))).toEqual(content);
    run('chmod', '-R', 'u+w', into);
  });
});
