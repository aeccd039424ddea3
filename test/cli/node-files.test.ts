// The verbs that write files for several nodes, as a user types them.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BmcRack, NAMES, openBmcRack } from './bmc-rack.ts';

let rack: BmcRack;
let folder: string;
beforeAll(async () => {
  rack = await openBmcRack();
  folder = join(rack.api.stateDir, 'written');
});
afterAll(() => rack.api.close());
beforeEach(() => rmSync(folder, { recursive: true, force: true }));

const coldiron = (...args: string[]) => rack.coldiron(...args);

describe('render with a selector', () => {
  it('writes a folder for each node, and prints one JSON array', async () => {
    const run = await coldiron('render', '--rack', 'm1', folder, '--json');
    expect([run.status, readdirSync(folder).toSorted()]).toEqual([0, NAMES]);
    expect(JSON.parse(run.stdout)).toEqual(
      NAMES.map((node) => expect.objectContaining({ node, folder: join(folder, node), missing: expect.any(Array) })),
    );
  });

  it('writes the other folders when one cannot be written, and says which', async () => {
    const edited = join(folder, 'metal02', 'flake.nix');
    mkdirSync(join(folder, 'metal02'), { recursive: true });
    writeFileSync(edited, '# mine\n');
    const run = await coldiron('render', '--rack', 'm1', folder);
    expect(run.status).toBeGreaterThan(0);
    expect(run.stderr).toMatch(/1 of 3 nodes failed[\s\S]*metal02/);
    expect(run.stdout.match(/^Wrote \d+ files/gm)).toHaveLength(2);
    expect(readdirSync(join(folder, 'metal03'))).toContain('flake.nix');
    expect(readFileSync(edited, 'utf8')).toBe('# mine\n');
  });

  it('writes nothing in a dry run of a named node', async () => {
    const run = await coldiron('render', 'metal01', folder, '--dry-run');
    expect([run.status, run.stdout]).toEqual([0, expect.stringContaining('render: 1 node (dry run')]);
    expect(() => statSync(folder)).toThrow();
  });
});

describe('token with a selector', () => {
  it('writes a private file for each node; to replace them needs --yes', async () => {
    const issued = await coldiron('token', 'issue', '--rack', 'm1', '--output', folder, '--json');
    expect(issued.status, issued.stdout).toBe(0);
    const files = NAMES.map((node) => join(folder, `install-node-agent-${node}.sh`));
    expect(JSON.parse(issued.stdout)).toMatchObject(NAMES.map((node, at) => ({ node, file: files[at] })));
    const texts = files.map((file) => readFileSync(file, 'utf8'));
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o700, 0o700, 0o700]);
    expect(new Set(texts).size).toBe(3);
    expect(issued.stdout).not.toContain('install_script');

    const again = ['token', 'reissue', '--rack', 'm1', '--output', folder];
    const refused = await coldiron(...again);
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining('this revokes the previous bundle of 3 nodes: add --yes'),
    ]);
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(texts);
    const reissued = await coldiron(...again, '--yes');
    expect([reissued.status, reissued.stdout.match(/install-node-agent-metal0\d\.sh, until /g)?.length]).toEqual([
      0, 3,
    ]);
    for (const [at, file] of files.entries()) expect(readFileSync(file, 'utf8')).not.toBe(texts[at]);
  });

  it.each([
    [['--show'], '--show prints the bundle of one node'],
    [['--output', '/dev/null/x'], 'cannot create the folder /dev/null/x'],
  ])('%j is refused with the reason', async (args, message) => {
    const run = await coldiron('token', 'issue', 'metal01', 'metal02', ...args);
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
