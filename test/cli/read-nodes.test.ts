// The verbs that read about nodes, as a user types them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BmcRack, NAMES, openBmcRack } from './bmc-rack.ts';

let rack: BmcRack;
beforeAll(async () => {
  rack = await openBmcRack();
});
afterAll(() => rack.api.close());
beforeEach(() => {
  for (const machine of Object.values(rack.machines)) machine.fails.clear();
});

const coldiron = (...args: string[]) => rack.coldiron(...args);
const json = async (...args: string[]) => JSON.parse((await coldiron(...args, '--json')).stdout);
const headings = (text: string) => text.match(/^==> .* <==$/gm);
const HEADINGS = NAMES.map((name) => `==> ${name} <==`);

describe('a verb that reads', () => {
  it.each([
    [['sensors'], 'sensors', /^Inlet +temperature +23\.5 degrees C +ok$/gm],
    [['sel'], 'entries', /Fan 1 is slow$/gm],
    [['diagnose'], 'diagnosis', /^No problem found for metal0\d: its state is registered\./gm],
    [['timeline'], 'stages', /^No work was started on metal0\d yet\.$/gm],
    [['trail'], 'events', / node\.created +Node metal0\d was created /g],
    [['sessions'], 'sessions', /^The service OS has not been started on metal0\d yet\.$/gm],
    [['task', 'list'], 'tasks', /^This node has no tasks\.$/gm],
    [['nodes', 'show'], 'waits_for', /^node +metal0\d/gm],
    [['explain'], 'outcome', /^outcome /gm],
    [['render', '--diff'], 'files', /^metal0\d has not received any files yet/gm],
  ])('%j shows selected nodes below headings, and in one JSON array', async (verb, field, line) => {
    const shown = await coldiron(...verb, '--rack', 'm1');
    expect(headings(shown.stdout)).toEqual(HEADINGS);
    expect(shown.stdout.match(line)).toHaveLength(3);
    const values = await json(...verb, '--rack', 'm1');
    expect(values.map(({ node }: { node: string }) => node)).toEqual(NAMES);
    for (const value of values) expect(value).toHaveProperty(field);
  });

  it('only shows the selection in a dry run', async () => {
    const dry = await coldiron('sensors', '--rack', 'm1', '--dry-run');
    expect([dry.status, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/^sensors: 3 nodes \(dry run: nothing was done\)$/m),
    ]);
    expect(headings(dry.stdout)).toBeNull();
    expect(await json('explain', 'metal01', '--dry-run')).toEqual([{ node: 'metal01', state: 'registered' }]);
  });

  it('shows a node that is named alone without a heading, and its JSON without an array', async () => {
    expect(headings((await coldiron('sensors', 'metal01')).stdout)).toBeNull();
    expect(await json('sensors', 'metal01')).toEqual([expect.objectContaining({ name: 'Inlet' })]);
    expect(await json('diagnose', 'metal01')).toMatchObject({ node: 'metal01', diagnosis: null });
    expect(await json('sel', 'metal01')).toMatchObject({ node: 'metal01', entries: [{ id: '1' }], cleared: false });
  });

  it('shows named nodes in the order of the arguments, each once', async () => {
    const { stdout } = await coldiron('sel', 'metal03', 'metal01', 'metal03');
    expect(headings(stdout)).toEqual([HEADINGS[2], HEADINGS[0]]);
    expect(await json('diagnose', '--match', 'metal02')).toEqual([expect.objectContaining({ node: 'metal02' })]);
  });

  it('shows the other nodes when a BMC does not answer, and lists the failures with their nodes', async () => {
    rack.machines.metal01?.fails.set('sensors', 'unreachable');
    rack.machines.metal03?.fails.set('sensors', 'busy');
    const run = await coldiron('sensors', '--rack', 'm1');
    expect(run.status).toBe(7);
    expect(run.stdout).toMatch(
      /^==> metal01 <==\nbmc_unreachable\n\n==> metal02 <==\nSENSOR[\s\S]*Inlet[\s\S]*\n\n==> metal03 <==\nbmc_busy\n\n$/,
    );
    expect(run.stderr).toContain('2 of 3 nodes failed');
    expect(run.stderr).toMatch(/metal01: no answer from the BMC[\s\S]*metal03: no answer from the BMC/);
    const printed = await coldiron('sensors', '--rack', 'm1', '--json');
    expect(printed.status).toBe(7);
    expect(JSON.parse(printed.stdout)).toEqual([
      expect.objectContaining({ node: 'metal01', code: 'bmc_unreachable', message: 'metal01: no answer from the BMC' }),
      { node: 'metal02', mode: 'real', sensors: [expect.objectContaining({ name: 'Inlet' })] },
      expect.objectContaining({ node: 'metal03', code: 'bmc_busy' }),
    ]);
  });

  it('shows the nodes that exist when one of the names does not', async () => {
    const run = await coldiron('trail', 'metal01', 'nobody', '--limit', '5');
    expect([run.status, run.stderr]).toEqual([4, expect.stringContaining('nobody')]);
    expect(run.stdout).toMatch(/^==> metal01 <==\n.*\d[\s\S]*==> nobody <==\nnot_found\n/);
  });

  it('explains a MAC address that no node has, beside one that a node has', async () => {
    const explained = await json('explain', 'metal01', '52:54:00:ff:ff:ff', '--via', '10.9.100.10');
    expect(explained.map(({ subject }: { subject: { hostname: string } }) => subject.hostname)).toEqual([
      'metal01',
      null,
    ]);
  });

  it.each([
    [['sensors'], 'name a node, or select some with --all'],
    [['trail', 'metal01', '--all'], 'name nodes (metal01), or select them with'],
    [['sensors', '--rack', 'r1'], 'no node with a BMC matches --rack r1'],
    [['explain', '--all', '-i', 'inventory/example.yaml'], 'selectors and --dry-run need an appliance'],
    [['render', '--rack', 'm1'], 'render with a selector takes one folder'],
    [['render', '--rack', 'm1', 'folder', '--diff'], 'render --diff shows differences and writes no folder'],
  ])('%j is refused with the reason', async (args, message) => {
    const run = await coldiron(...args);
    expect(run.stderr).toContain(message);
    expect(run.status).toBeGreaterThan(1);
  });
});
