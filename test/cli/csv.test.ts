import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCsv } from '../../appliance/cli/csv.ts';
import { nodesFromCsv } from '../../appliance/cli/import-nodes.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';

const cellsOf = (text: string): string[][] => {
  const rows = parseCsv(text);
  if (!rows.ok) throw new Error(rows.reason);
  return rows.value.map((row) => [...row.cells]);
};

describe('CSV', () => {
  it('has quotes, doubled quotes, commas and line breaks inside quotes, CRLF and a byte order mark', () => {
    expect(cellsOf('\ufeffa,b\r\n"1,2","say ""hi"""\n"x\ny",\n')).toEqual([
      ['a', 'b'],
      ['1,2', 'say "hi"'],
      ['x\ny', ''],
    ]);
  });

  it('skips empty lines but keeps the numbers of the others', () => {
    const rows = parseCsv('a\n\n"b\nc"\nd\n');
    expect(rows).toMatchObject({ ok: true, value: [{ line: 1 }, { line: 3 }, { line: 5 }] });
  });

  it.each([
    ['"open', 'line 1: a quote is never closed'],
    ['a\nb"c"\n', 'line 2: a quote in the middle of a cell'],
    ['"a"b\n', 'line 1: text after a closing quote'],
  ])('%j is refused', (text, reason) => {
    expect(parseCsv(text)).toEqual({ ok: false, reason });
  });

  it('gives back whatever was written with quotes', () => {
    const cell = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\r', ''));
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { minLength: 1 }), (rows) => {
        const text = rows.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')).join('\n');
        expect(cellsOf(text)).toEqual(rows);
      }),
    );
  });
});

describe('importing nodes', () => {
  it('makes one node document per row, in the form of the inventory files', () => {
    const text =
      'name,mac,network,sku,address,bmc_address,bmc_username\nn1,52:54:00:00:00:01,prov,gp1,10.0.0.1,10.0.1.1,admin\nn2,52:54:00:00:00:02,prov,gp1,,,\n';
    expect(nodesFromCsv(text, 'rack.csv')).toEqual([
      {
        name: 'n1',
        sku: 'gp1',
        interfaces: [{ name: 'eth0', mac: '52:54:00:00:00:01', network: 'prov', address: '10.0.0.1' }],
        bmc: { address: '10.0.1.1', driver: 'ipmi', username: 'admin' },
      },
      { name: 'n2', sku: 'gp1', interfaces: [{ name: 'eth0', mac: '52:54:00:00:00:02', network: 'prov' }] },
    ]);
  });

  it('lists everything that is wrong with the columns and rows at once', () => {
    const text = 'name,mac,rack\nn1,52:54:00:00:00:01\n';
    const attempt = (): unknown => nodesFromCsv(text, 'rack.csv');
    expect(attempt).toThrow(ColdironError);
    try {
      attempt();
    } catch (error) {
      expect((error as ColdironError).details).toEqual([
        'rack.csv: line 1: the column network is missing',
        'rack.csv: line 1: the column sku is missing',
        expect.stringContaining('rack.csv: line 1: unknown column rack; there are name, mac'),
        'rack.csv: line 2: 2 cells where the first line has 3',
      ]);
    }
  });
});
