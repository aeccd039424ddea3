import { describe, expect, it } from 'vitest';
import { FollowScreen } from '../../appliance/cli/follow.ts';
import { endOf, type Look } from '../../appliance/cli/follow-node.ts';
import type { Answer } from '../../appliance/contract/wire.ts';

const BEGAN = Date.UTC(2030, 0, 1);
const at = (seconds: number): string => new Date(BEGAN + seconds * 1000).toISOString();

type NodeAnswer = Answer<'getNode'>;

const node = (changes: Partial<NodeAnswer> = {}): NodeAnswer => ({
  id: 'id-1',
  hostname: 'node01',
  state: 'deploying',
  since: at(0),
  deadline: null,
  failure: null,
  note: null,
  waits_for: '',
  next_step: 'look at its console',
  health: 'unknown',
  sku: null,
  profile: null,
  cluster: null,
  resume: null,
  site: null,
  architecture: 'x86_64',
  serial: null,
  identity: {
    level: 'asserted',
    summary: '',
    bound_at: null,
    uuid: null,
    serial: null,
    macs: [],
    tpm: null,
    pending: null,
  },
  erasure: null,
  not_erased: null,
  maas_system_id: null,
  secure_boot: null,
  plain_pxe: false,
  gpus: null,
  region: null,
  access: null,
  enrollment: null,
  intent: null,
  allocation: null,
  version: 1,
  revision: 1,
  uuid: null,
  interfaces: [],
  bmc: null,
  labels: {},
  source: 'site',
  ...changes,
});

const look = (changes: Partial<Look> = {}): Look => ({
  node: node(),
  news: [],
  progress: null,
  after: 0,
  end: null,
  ...changes,
});

function screenFor(nodes: readonly string[], colour: boolean) {
  const written: string[] = [];
  const output = { colour, write: (text: string) => void written.push(text) };
  return { screen: new FollowScreen(output, nodes, BEGAN), text: () => written.join('') };
}

describe('following a node', () => {
  it('writes a line for each event, with the time since the start', () => {
    const { screen, text } = screenFor(['node01'], false);
    screen.show('node01', look({ news: [{ at: at(5), words: 'it was powered on' }] }));
    screen.show('node01', look({ news: [{ at: at(3725), words: 'it has booted' }] }));
    expect(text()).toBe('  0:05  it was powered on\n 62:05  it has booted\n');
  });

  it('shows an event from before the start at time 0', () => {
    const { screen, text } = screenFor(['node01'], false);
    screen.show('node01', look({ news: [{ at: at(-30), words: 'clock of the appliance is behind' }] }));
    expect(text()).toMatch(/^ {2}0:00 /);
  });

  it('names the node of each line in one column when there are several', () => {
    const { screen, text } = screenFor(['a', 'node02'], false);
    screen.show('a', look({ news: [{ at: at(1), words: 'first' }] }));
    screen.show('node02', look({ news: [{ at: at(2), words: 'second' }] }));
    expect(text()).toBe('  0:01  a       first\n  0:02  node02  second\n');
  });

  it('removes control characters that a machine sent', () => {
    const { screen, text } = screenFor(['node01'], false);
    screen.show('node01', look({ news: [{ at: at(1), words: 'gone\u001b[2J\u009b2J' }] }));
    expect(text().match(/[^\P{Cc}\n]/gu)).toBeNull();
  });

  it('draws a bar on a terminal, erases it before the next line, and draws none elsewhere', () => {
    const terminal = screenFor(['node01'], true);
    terminal.screen.show('node01', look({ progress: { step: 'write-image', percent: 50 } }));
    expect(terminal.text()).toBe(`write-image [${'#'.repeat(15)}${' '.repeat(15)}] 50 %`);
    terminal.screen.show('node01', look({ news: [{ at: at(1), words: 'written' }] }));
    expect(terminal.text()).toContain('50 %\r\u001b[2K');
    expect(terminal.text()).toMatch(/written\n$/);
    const file = screenFor(['node01'], false);
    file.screen.show('node01', look({ progress: { step: 'write-image', percent: 50 } }));
    expect(file.text()).toBe('');
  });

  it.each([
    ['active', { ok: true } as const, 'active'],
    ['failed', { ok: false, stage: 'deploy', reason: 'no disk', nextStep: 'add one' } as const, 'failed'],
  ] as const)('ends with the word %s, and without its bar', (state, end, word) => {
    const { screen, text } = screenFor(['node01'], true);
    screen.show('node01', look({ progress: { step: 'write-image', percent: 99.9 } }));
    screen.show('node01', look({ node: node({ state }), end }));
    expect(text()).toContain('99 %');
    expect(text().endsWith(`${word}\u001b[0m\n`)).toBe(true);
  });
});

describe('the end of followed work', () => {
  const WAY = { via: ['deploying', 'enrolling'], to: 'active' } as const;

  it.each(WAY.via)('is not reached while the node is %s', (state) => {
    expect(endOf(node({ state }), WAY)).toBeNull();
  });

  it('is a success in the target state, or in any state without a target', () => {
    expect(endOf(node({ state: 'active' }), WAY)).toEqual({ ok: true });
    expect(endOf(node({ state: 'ready' }), { via: ['releasing'], to: null })).toEqual({ ok: true });
  });

  it('is a failure with step, reason and next step', () => {
    const failed = node({ state: 'failed', failure: { step: 'deploy', reason: 'two disks match' } });
    expect(endOf(failed, WAY)).toEqual({
      ok: false,
      stage: 'deploy',
      reason: 'two disks match',
      nextStep: 'look at its console',
    });
  });

  it.each([
    ['another chassis', 'another chassis'],
    [null, 'its state is quarantined'],
  ])('is a failure when another command moved the node (note: %s)', (note, reason) => {
    expect(endOf(node({ state: 'quarantined', note }), WAY)).toMatchObject({ ok: false, stage: 'quarantined', reason });
  });
});
