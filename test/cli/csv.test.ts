import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCsv } from '../../appliance/cli/csv.ts';
import { nodesFromCsv, placedInCsv } from '../../appliance/cli/import-nodes.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';

const cellsOf = (text: string): string[][] => {
  const rows = parseCsv(text);
  if (!rows.ok) throw new Error(rows.reason);
  return rows.value.map((row) => [...row.cells]);
};

describe('CSV', () => {
  it('accepts quotes, doubled quotes, commas and line breaks inside quotes, CRLF and a byte order mark', () => {
    expect(cellsOf('\ufeffa,b\r\n"1,2","say ""hi"""\n"x\ny",\n')).toEqual([
      ['a', 'b'],
      ['1,2', 'say "hi"'],
      ['x\ny', ''],
    ]);
  });

  it('uses semicolons when its first line does, and then allows commas in cells', () => {
    expect(cellsOf('a;b\r\n1,5;2\r\n')).toEqual([
      ['a', 'b'],
      ['1,5', '2'],
    ]);
    expect(cellsOf('a,b\n1;5,2\n')).toEqual([
      ['a', 'b'],
      ['1;5', '2'],
    ]);
  });

  it('skips empty lines and keeps the line numbers', () => {
    const rows = parseCsv('a\n\n"b\nc"\nd\n');
    expect(rows).toMatchObject({ ok: true, value: [{ line: 1 }, { line: 3 }, { line: 5 }] });
  });

  it.each([
    ['"open', 'line 1: a quote is not closed'],
    ['a,b\n1,2\n\n3,"4\n5,6\n', 'line 4, column b: a quote is not closed'],
    ['a\nb"c"\n', 'line 2, column a: a quote in the middle of a cell'],
    ['\ufeffa;b\r\n1;"2"3\r\n', 'line 2, column b: text after a closing quote'],
    ['"a"b\n', 'line 1: text after a closing quote'],
  ])('rejects %j', (text, reason) => {
    expect(parseCsv(text)).toEqual({ ok: false, reason });
  });

  it('parses every quoted value back', () => {
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
  it('makes one node document per row, in the format of the inventory files', () => {
    const text =
      'name,mac,network,sku,address,bmc_address,bmc_username,switch,switch_port\nn1,52:54:00:00:00:01,prov,gp1,10.0.0.1,10.0.1.1,admin,sw3,Eth1/1\nn2,52:54:00:00:00:02,prov,gp1,,,,,\n';
    expect(nodesFromCsv(text, 'rack.csv').nodes).toEqual([
      {
        name: 'n1',
        sku: 'gp1',
        interfaces: [
          {
            ...{ name: 'eth0', mac: '52:54:00:00:00:01', network: 'prov', address: '10.0.0.1' },
            switch: { name: 'sw3', port: 'Eth1/1' },
          },
        ],
        bmc: { address: '10.0.1.1', driver: 'ipmi', username: 'admin' },
      },
      { name: 'n2', sku: 'gp1', interfaces: [{ name: 'eth0', mac: '52:54:00:00:00:02', network: 'prov' }] },
    ]);
  });

  it('names the line and the column of a value that the appliance rejects', () => {
    const { lines } = nodesFromCsv('name;mac;network;sku\n\nn1;x;prov;gp1\nn2;y;prov;gp1\n', 'rack.csv');
    const problems = [
      'request: nodes[0].interfaces[0].mac: not a MAC address: x',
      'request: nodes[1].name: n2 is taken by request: nodes[0].name',
      'request: nodes[1].bmc.address: is missing',
      'request: nodes[1].interfaces[0].name: is missing',
      'request: nodes[1].interfaces[0].switch.port: is missing',
      'request: nodes[1]: is empty',
    ];
    const error = placedInCsv(new ColdironError('invalid_inventory', problems[0] ?? '', problems), 'rack.csv', lines);
    expect(error.message).toBe('rack.csv: line 3, column mac: not a MAC address: x');
    expect(error.details).toEqual([
      'rack.csv: line 3, column mac: not a MAC address: x',
      'rack.csv: line 4, column name: n2 is taken by rack.csv: line 3, column name',
      'rack.csv: line 4, column bmc_address: is missing',
      'rack.csv: line 4, column interface: is missing',
      'rack.csv: line 4, column switch_port: is missing',
      'rack.csv: line 4: is empty',
    ]);
  });

  it('lists all problems of columns and rows at once', () => {
    const text = 'name,mac,rack\nn1,52:54:00:00:00:01\n';
    const attempt = (): unknown => nodesFromCsv(text, 'rack.csv');
    expect(attempt).toThrow(ColdironError);
    try {
      attempt();
    } catch (error) {
      expect((error as ColdironError).details).toEqual([
        'rack.csv: line 1: the column network is missing',
        'rack.csv: line 1: the column sku is missing',
        expect.stringContaining('rack.csv: line 1: unknown column rack; known columns: name, mac'),
        'rack.csv: line 2: 2 cells, but the first line has 3',
      ]);
    }
  });
});
