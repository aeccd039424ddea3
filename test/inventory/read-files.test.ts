import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { readInventoryFiles } from '../../appliance/inventory/read-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-read-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

async function problemsReading(...paths: string[]): Promise<string[]> {
  try {
    await readInventoryFiles(paths);
  } catch (error) {
    expect(error).toBeInstanceOf(ColdironError);
    expect((error as ColdironError).code).toBe('invalid_inventory');
    return (error as ColdironError).details.map((line) => line.replaceAll(`${folder}/`, ''));
  }
  throw new Error('the files were read');
}

describe('reading inventory files', () => {
  it('reads YAML and JSON, and names each source after its file', async () => {
    const sources = await readInventoryFiles([
      await file('lab.yaml', 'sites:\n  - name: lab\n    region: 2020-01-01\n'),
      await file('more.json', '{\n\t"skus": [{"name": "a\\tb"}]\n}'),
    ]);
    expect(sources.map(({ name, value }) => [name, value])).toEqual([
      ['lab', { sites: [{ name: 'lab', region: '2020-01-01' }] }],
      ['more', { skus: [{ name: 'a\tb' }] }],
    ]);
  });

  it('lists every problem with its place', async () => {
    expect(
      await problemsReading(
        join(folder, 'none.yaml'),
        await file('tabs.yaml', 'nodes:\n\t- name: a\n'),
        await file('twice.yaml', 'nodes: []\nsites: []\nnodes: []\n'),
        await file('twice-json.json', '{"nodes": [],\n "nodes": []}'),
        await file('broken.json', '{"nodes": [,]}'),
        await file('list.yaml', '- name: a\n'),
        await file('empty.yaml', '# nothing yet\n'),
        await file('two.yaml', 'nodes: []\n---\nnodes: []\n'),
        await file('nul.yaml', 'sites: [\0]\n'),
        await file('tag.yaml', 'sites: !!js/function "x"\n'),
        await file('binary.yaml', new Uint8Array([0x6e, 0xff, 0xfe])),
      ),
    ).toEqual([
      'none.yaml: no such file',
      'tabs.yaml:2:1: not YAML: tab characters must not be used in indentation',
      'twice.yaml:3:1: not YAML: duplicated mapping key',
      'twice-json.json:2:3: not YAML: duplicated mapping key',
      expect.stringMatching(/^broken\.json(:1:12)?: not JSON: /),
      'list.yaml: must be a mapping of sections (nodes: …, networks: …)',
      'empty.yaml: is empty; write {} to declare nothing',
      'two.yaml: not YAML: expected a single document in the stream, but found more',
      'nul.yaml:1:9: not YAML: null byte is not allowed in input',
      expect.stringMatching(/^tag\.yaml:1:8: not YAML: unknown scalar tag/),
      'binary.yaml: is not UTF-8 text',
    ]);
  });

  it('rejects duplicate and reserved source names', async () => {
    const lab = await file('lab.yaml', '{}');
    expect(
      await problemsReading(
        lab,
        join(folder, 'other', 'lab.yaml'),
        await file('api.yaml', '{}'),
        await file('network.yaml', '{}'),
        await file('site.yaml', '{}'),
        await file('My Rack.yaml', '{}'),
      ),
    ).toEqual([
      'other/lab.yaml: has the same source name as lab.yaml: rename one of the files',
      'api.yaml: rename the file: "api" is reserved for objects that are added over the API',
      'network.yaml: rename the file: "network" is reserved for discovered machines',
      'site.yaml: rename the file: "site" is reserved for objects that coldiron.yaml declares',
      expect.stringMatching(/^My Rack\.yaml: rename the file: not a name/),
    ]);
  });

  it('rejects alias bombs and cyclic aliases', async () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const inside = level === 0 ? '1' : `*l${level - 1}`;
      return `l${level}: &l${level} [${Array.from({ length: 10 }, () => inside).join(', ')}]`;
    });
    expect(
      await problemsReading(
        await file('bomb.yaml', `${levels.join('\n')}\n`),
        await file('circle.yaml', 'nodes: &self [*self]\n'),
      ),
    ).toEqual([
      'bomb.yaml: its aliases expand to more than 4000000 values; write the values without aliases',
      'circle.yaml: its aliases expand to more than 4000000 values; write the values without aliases',
    ]);
  });

  it('rejects directories and files that are too large', async () => {
    await mkdir(join(folder, 'racks'));
    const huge = await file('huge.yaml', 'a: x\n');
    await truncate(huge, 150_000_000);
    expect(await problemsReading(join(folder, 'racks'), huge)).toEqual([
      'racks: not a file',
      'huge.yaml: has 150000000 bytes; the limit is 134217728: split the file',
    ]);
  });

  it('allows an alias to be used many times', async () => {
    const nodes = Array.from({ length: 2000 }, (_, at) => `  - { name: n${at}, labels: *rack }`);
    const text = `sites: [{ labels: &rack { row: a } }]\nnodes:\n${nodes.join('\n')}\n`;
    const [source] = await readInventoryFiles([await file('alias.yaml', text)]);
    const last = { name: 'n1999', labels: { row: 'a' } };
    expect(source?.value).toMatchObject({ nodes: expect.arrayContaining([last]) });
  });

  it('treats __proto__ as an ordinary key', async () => {
    const [source] = await readInventoryFiles([await file('proto.yaml', '__proto__: { nodes: [] }\n')]);
    expect(Object.keys(source?.value as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).nodes).toBeUndefined();
  });
});
