import { describe, expect, it } from 'vitest';
import { findNodes, nameInLink } from '../../appliance/web/page/technician/find-node.ts';
import { type Observed, stepsOf } from '../../appliance/web/page/technician/steps.ts';
import { rowOf } from './rows.ts';

const NODES = [
  rowOf({ hostname: 'r12u07', serial: 'CLD0007', mac: '52:54:00:12:34:56', rack: 'r12', unit: '7' }),
  rowOf({ hostname: 'r12u08', serial: 'CLD00071', mac: '52:54:00:12:34:57', rack: 'r12', unit: '8' }),
  rowOf({ hostname: 'gone', serial: 'CLD0009', mac: '52:54:00:12:34:58', state: 'removed' }),
];
const found = (text: string) => findNodes(NODES, text).map(({ hostname }) => hostname);

describe('what a technician scans or types', () => {
  it.each([
    ['r12u07', ['r12u07']],
    [' R12U07 ', ['r12u07']],
    // An exact serial number is not every one that begins with it.
    ['cld0007', ['r12u07']],
    ['CLD', ['r12u07', 'r12u08']],
    ['5254.0012.3457', ['r12u08']],
    ['52-54-00-12-34-56', ['r12u07']],
    ['r12 8', ['r12u08']],
    ['r12/u7', ['r12u07']],
    ['https://appliance:8443/t/r12u08', ['r12u08']],
    ['CLD0009', []],
    ['', []],
    ['::', []],
  ])('%j', (text, names) => expect(found(text)).toEqual(names));

  it('is a link only when it ends with the page of a node', () => {
    expect(nameInLink('https://x/t/a%2Fb')).toBe('a/b');
    expect(nameInLink('https://x/t/%E0%A4%A')).toBeNull();
    expect(nameInLink('https://x/nodes/a')).toBeNull();
  });
});

describe('steps', () => {
  const observed = (row: Parameters<typeof rowOf>[0], rest: Partial<Observed> = {}): Observed => ({
    ...{ row: rowOf(row), power: null, cables: [], kinds: new Set<string>() },
    ...rest,
  });
  const states = (input: Observed) => stepsOf(input).map(({ id, state }) => `${id} ${state}`);

  it('begin with power, and only one is next', () => {
    expect(states(observed({ state: 'registered' }))).toEqual([
      'power now',
      'link later',
      'dhcp later',
      'accepted done',
      'commissioned later',
      'deployed later',
      'active later',
    ]);
  });

  it('are ticked off by what the appliance observed', () => {
    const input = observed({ state: 'discovered' }, { power: 'on', kinds: new Set(['dhcp.discover']) });
    expect(states(input).slice(0, 4)).toEqual(['power done', 'link done', 'dhcp done', 'accepted now']);
    expect(
      states(observed({ state: 'active' }, { kinds: new Set(['dhcp.ack']) })).every((step) => step.endsWith('done')),
    ).toBe(true);
  });

  it('name the step that failed, with its reason', () => {
    const failed = observed({ state: 'failed', failed_step: 'deploy', reason: 'no disk of 2 TB' }, { power: 'on' });
    expect(stepsOf(failed).find(({ id }) => id === 'deployed')).toMatchObject({
      state: 'wrong',
      words: 'no disk of 2 TB',
    });
    expect(states(failed).filter((step) => step.endsWith('done'))).toEqual([
      ...['power done', 'link done', 'dhcp done', 'accepted done', 'commissioned done'],
    ]);
    // Before it could boot, a failed machine has not shown anything.
    expect(states(observed({ state: 'failed', failed_step: 'commission' }))[0]).toBe('power now');
  });

  it('name the port that is declared, and the cable that is wrong', () => {
    const cable = {
      interface: 'eth0',
      mac: null,
      seen: null,
      link: true,
      port_of: null,
      summary: 'it is in port 18',
    } as const;
    const declared = { name: 'sw3', port: '17' };
    const open = observed(
      { state: 'registered' },
      { cables: [{ ...cable, link: null, verdict: 'not-heard', declared }] },
    );
    expect(stepsOf(open)[1]?.words).toBe('Plug its cable into port 17 of sw3.');
    const wrong = observed({ state: 'registered' }, { cables: [{ ...cable, verdict: 'another-port', declared }] });
    expect(stepsOf(wrong)[1]).toMatchObject({ state: 'wrong', words: 'it is in port 18' });
  });
});
