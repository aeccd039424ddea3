import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../appliance/config.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { readInventoryFiles } from '../../appliance/inventory/read-files.ts';
import { applySiteInventory } from '../../appliance/inventory/site-inventory.ts';
import { counter, MemoryStore } from './memory-store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-script-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (name: string, content: string | Uint8Array): Promise<string> => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};
const siteWith = (script: string): string =>
  `sites:\n  - name: lab\n    bootstrap: { name: infra, version: "1", script_file: ${script} }\n`;

async function problemsOf(reading: Promise<unknown>): Promise<string[]> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof ColdironError) return error.details.map((line) => line.replaceAll(`${folder}/`, ''));
    throw error;
  }
  return [];
}

describe('the bootstrap script of a site', () => {
  it('is read with the file that references it, relative to its folder', async () => {
    await write('first-boot.sh', '#!/bin/sh\necho "grüße"\n');
    const file = await write('lab.yaml', siteWith('first-boot.sh'));
    const sources = await readInventoryFiles([file]);
    expect(sources[0]?.scripts).toEqual([join(folder, 'first-boot.sh')]);
    const { problems, sources: declared } = checkInventory(sources);
    expect(problems).toEqual([]);
    expect(declared[0]?.declared.sites[0]?.bootstrap).toEqual({
      name: 'infra',
      version: '1',
      script: '#!/bin/sh\necho "grüße"\n',
    });
  });

  it('may belong to a profile, which uses it in place of that of the site', async () => {
    await write('gpu.sh', '#!/bin/sh\necho gpu\n');
    const profile = '  - { name: gpu, kind: cloud-image, bootstrap: { name: gpu, version: "2", script_file: gpu.sh } }';
    const file = await write('lab.yaml', `profiles:\n${profile}\n`);
    const sources = await readInventoryFiles([file]);
    expect(sources[0]?.scripts).toEqual([join(folder, 'gpu.sh')]);
    const { sources: declared } = checkInventory(sources);
    expect(declared[0]?.declared.profiles[0]?.bootstrap).toEqual({
      name: 'gpu',
      version: '2',
      script: '#!/bin/sh\necho gpu\n',
    });
    const gone = await write('gone.yaml', `profiles:\n${profile.replace('gpu.sh', 'none.sh')}\n`);
    expect((await problemsOf(readInventoryFiles([gone]))).join()).toContain('profiles[0].bootstrap.script_file');
  });

  it('is read with coldiron.yaml too', async () => {
    await write('first-boot.sh', '#!/bin/sh\n');
    const config = await loadConfig(await write('coldiron.yaml', siteWith('./first-boot.sh')));
    expect(config.inline?.value).toEqual({
      sites: [{ name: 'lab', bootstrap: { name: 'infra', version: '1', script: '#!/bin/sh\n' } }],
    });
    expect(await problemsOf(loadConfig(await write('broken.yaml', siteWith('gone.sh'))))).toEqual([
      'broken.yaml: sites[0].bootstrap.script_file: gone.sh: no such file',
    ]);
  });

  it('is rejected when it cannot be read, with the place of the reference', async () => {
    await write('binary', new Uint8Array([0x23, 0x21, 0xff]));
    await write('large.sh', `#!/bin/sh\n${'#'.repeat(64 * 1024)}`);
    const files = [
      await write('gone.yaml', siteWith('gone.sh')),
      await write('folder.yaml', siteWith('.')),
      await write('bytes.yaml', siteWith('binary')),
      await write('large.yaml', siteWith('large.sh')),
      await write('both.yaml', siteWith('gone.yaml, script: "#!"')),
    ];
    expect(await problemsOf(readInventoryFiles(files))).toEqual([
      'gone.yaml: sites[0].bootstrap.script_file: gone.sh: no such file',
      'folder.yaml: sites[0].bootstrap.script_file: .: not a file',
      'bytes.yaml: sites[0].bootstrap.script_file: binary: is not UTF-8 text',
      'large.yaml: sites[0].bootstrap.script_file: large.sh: has 65546 bytes; the limit is 65536: split the file',
      'both.yaml: sites[0].bootstrap: has both script and script_file',
    ]);
  });

  it.each([
    ['sites: 5', 'sites: must be a list, is a number: 5'],
    ['sites: [5]', 'sites[0]: must be a mapping (key: value), is a number: 5'],
    ['sites: [{ name: lab, bootstrap: 5 }]', 'sites[0].bootstrap: must be a mapping (key: value), is a number: 5'],
    [siteWith('[x]'), 'sites[0].bootstrap.script_file: must be text, is a list'],
  ])('leaves what is no such thing to the check: %j', async (text, problem) => {
    const sources = await readInventoryFiles([await write('odd.yaml', text)]);
    expect(checkInventory(sources).problems).toContain(`${join(folder, 'odd.yaml')}: ${problem}`);
  });
});

describe('a restart', () => {
  it('applies an edited script, and nothing when it is unchanged', async () => {
    const script = await write('first-boot.sh', '#!/bin/sh\necho 1\n');
    const file = await write('lab.yaml', siteWith('first-boot.sh'));
    const store = Object.assign(new MemoryStore(), { appendEvents: async () => {} });
    const site = { file: 'coldiron.yaml', inline: null, inventoryFiles: [file], state: folder };
    const logger = { info: () => {}, error: () => {} };
    const start = () => applySiteInventory(store, store.held, site, { now: () => 0, newId: counter(), logger });

    await start();
    await start();
    expect(store.writes).toHaveLength(1);
    const mark = await readFile(join(folder, 'inventory-in-force'), 'utf8');
    expect(JSON.parse(mark).sources).toMatchObject([{ file, scripts: [script] }]);

    await write('first-boot.sh', '#!/bin/sh\necho 2\n');
    await start();
    expect(store.held.sites[0]?.bootstrap?.script).toBe('#!/bin/sh\necho 2\n');
    const [change] = store.writes.at(-1)?.events ?? [];
    // The script is shown as its SHA-256: it may contain secrets that must not be logged.
    expect(change?.data).toMatchObject({
      details: [expect.stringMatching(/^bootstrap\.script: sha256:[0-9a-f]{32} -> sha256:/)],
    });
    expect(JSON.stringify(store.writes.at(-1)?.audit)).not.toContain('echo');
  });
});
