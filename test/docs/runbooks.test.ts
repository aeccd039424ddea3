// Every command in docs/runbooks is executed as written: on the appliance with the real CLI, on the node in a box with the real agent.

import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildProgram } from '../../appliance/cli/program.ts';
import { withSymptoms } from '../../appliance/trail/diagnosis/document.ts';
import { needPackages } from '../interop/packages.ts';
import { AgentSite } from '../node-agent/agent-rig.ts';
import { NodeBox } from '../node-agent/node-box.ts';
import { ROOT } from '../process/appliance.ts';

interface Block {
  readonly page: string;
  readonly line: number;
  readonly text: string;
}

/** In the order of a node's life. */
const PAGES = ['node-onboarding.md', 'node-agent-recovery.md', 'node-decommission.md'];
const read = (page: string): string => readFileSync(join(ROOT, 'docs/runbooks', page), 'utf8');

/** The fenced `sh` blocks, without the indentation of their list. */
function blocksOf(page: string): Block[] {
  const lines = read(page).split('\n');
  return lines.flatMap((line, at): Block[] => {
    const indent = /^( *)```sh$/.exec(line)?.[1];
    if (indent === undefined) return [];
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    const text = lines.slice(at + 1, end).map((each) => each.slice(indent.length));
    return [{ page, line: at + 1, text: text.join('\n') }];
  });
}

/** What a reader must fill in. */
const isTemplate = (line: string): boolean => line.includes('TASK-ID');

describe('the commands of the runbooks', () => {
  let site: AgentSite;
  let box: NodeBox;
  beforeAll(async () => {
    await needPackages(['curl', 'openssl', 'dash', 'util-linux']);
    site = await AgentSite.make();
    await site.serve();
    box = await NodeBox.open();
    const bin = join(site.site.path, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'coldiron'), `#!/bin/sh\nexec ${join(ROOT, 'coldiron')} "$@"\n`);
    chmodSync(join(bin, 'coldiron'), 0o755);
  });
  afterAll(async () => {
    await box?.close();
    await site?.end();
  });

  const onAppliance = (text: string) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-eu'], {
      cwd: site.site.path,
      env: { ...process.env, PATH: `${join(site.site.path, 'bin')}:${process.env.PATH}` },
      input: text,
      encoding: 'utf8',
      timeout: 120_000,
    });
    return { status, output: stdout + stderr };
  };
  const onNode = (text: string) => box.run(`set -eu\ncd ${site.site.path}\n${text}`);

  it.each(PAGES.flatMap(blocksOf))('$page:$line', ({ text }) => {
    const [first = ''] = text.split('\n');
    const run = text
      .split('\n')
      .filter((line) => !isTemplate(line))
      .join('\n');
    const { status, output } = first === '# on the node' ? onNode(run) : onAppliance(run);
    if (first === '# refused') expect([5], output).toContain(status);
    else expect(status, output).toBe(0);
  });

  it('leave the node removed, as the last one says', () => {
    expect(onAppliance('coldiron nodes list --json').output).not.toContain('"node01"');
  });
});

describe('commands that a reader completes', () => {
  const find = (words: readonly string[]): Command | undefined =>
    words.reduce<Command | undefined>(
      (parent, name) => parent?.commands.find((each) => each.name() === name),
      buildProgram(),
    );
  const templates = PAGES.flatMap(blocksOf).flatMap(({ text }) => text.split('\n').filter(isTemplate));

  it.each(templates)('%s is a verb with these options', (line) => {
    const [, group = '', verb = ''] = line.split(' ');
    const command = find([group, verb]);
    expect(command, line).toBeDefined();
    const known = command?.options.map(({ long }) => long) ?? [];
    expect(
      [...line.matchAll(/--[a-z-]+/g)].map(([option]) => option).filter((option) => !known.includes(option)),
    ).toEqual([]);
  });

  it('are few', () => expect(templates).toHaveLength(2));
});

describe('the pages', () => {
  it('are all executed, or about an event, or need a MAAS', () => {
    const others = globSync('docs/runbooks/*.md', { cwd: ROOT }).map((path) => path.split('/').at(-1) ?? '');
    expect(others.toSorted()).toEqual([...PAGES, 'maas-onboarding.md', 'refused-registration.md'].toSorted());
  });

  it('have the symptoms of the diagnosis; npm run docs writes them', () => {
    expect(withSymptoms(read('node-agent-recovery.md'))).toBe(read('node-agent-recovery.md'));
  });
});
