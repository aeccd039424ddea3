import { describe, expect, it } from 'vitest';
import { misplaced, racksOf, slotsOf, unitNumber } from '../../appliance/web/page/racks/rack-layout.ts';
import { rowOf } from './rows.ts';

describe('units', () => {
  it.each([
    ['7', 7],
    ['u07', 7],
    ['U12', 12],
    ['12-13', 12],
    ['0', null],
    ['99', null],
    ['top', null],
    [null, null],
  ])('reads %j as %j', (text, unit) => expect(unitNumber(text)).toBe(unit));
});

describe('racks', () => {
  const rows = [
    rowOf({ hostname: 'a', site: 'x', rack: 'r10', unit: '3' }),
    rowOf({ hostname: 'b', site: 'x', rack: 'r9', unit: '1' }),
    rowOf({ hostname: 'c', site: 'x', rack: 'r9', unit: '1' }),
    rowOf({ hostname: 'd', site: 'y', rack: 'r9', unit: 'shelf' }),
    rowOf({ hostname: 'e', site: 'x', rack: null }),
    rowOf({ hostname: 'f', site: 'x', rack: 'r9', unit: '2', state: 'removed' }),
  ];

  it('are sorted as people count, and are apart where sites have the same name', () => {
    expect(racksOf(rows).map(({ site, name }) => `${site} ${name}`)).toEqual(['x r9', 'x r10', 'y r9']);
  });

  it('draw the top unit first, and free units as one gap', () => {
    const [r9, r10, other] = racksOf(rows);
    expect(
      slotsOf(r10?.units ?? []).map((slot) => (slot.kind === 'gap' ? `${slot.from}-${slot.to}` : slot.unit.unit)),
    ).toEqual(['42-4', 3, '2-1']);
    expect(r9?.units.at(-1)?.rows.map(({ hostname }) => hostname)).toEqual(['b', 'c']);
    expect(other?.units).toEqual([]);
    expect(other?.elsewhere.map(({ hostname }) => hostname)).toEqual(['d']);
  });

  it('say who is in the wrong place', () => {
    const cabling = { verdict: 'another-port', summary: 'its cable is in the port of b' } as const;
    expect(misplaced(rowOf({ cabling }))).toBe('its cable is in the port of b');
    expect(misplaced(rowOf({}))).toBeNull();
  });
});
