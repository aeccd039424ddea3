// docs/seeds.md is only worth something while it is exact: files that exist, a status that means one thing, each id once.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TEXT = readFileSync(join(ROOT, 'docs/seeds.md'), 'utf8');

/** What a status may be; where something follows the colon, it is required. */
const STATUS = /^(?:met|not met|not met: .+|partly: .+|met differently: .+)$/;
const ID = /^(?:[AB]\d+|[234]\.\d+)$/;

interface Row {
  readonly id: string;
  readonly requirement: string;
  readonly files: string;
  readonly tests: string;
  readonly status: string;
}

const ROWS: readonly Row[] = TEXT.split('\n')
  .filter((line) => /^\| (?:[AB]\d|[234]\.\d)/.test(line))
  .map((line) => {
    const [id = '', requirement = '', files = '', tests = '', status = '', ...rest] = line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    expect(rest, line).toEqual([]);
    return { id, requirement, files, tests, status };
  });

const pathsIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? '');
const missing = (paths: readonly string[]): string[] => paths.filter((path) => !existsSync(join(ROOT, path)));

/** Runbook, then number: 4.9 comes before 4.10. */
const orderOf = (id: string): [string, number] => {
  const [, group = '', number = ''] = /^([AB]|[234]\.)(\d+)$/.exec(id) ?? [];
  return [group, Number(number)];
};

describe('docs/seeds.md', () => {
  it('has the rows of all five runbooks', () => {
    const groups = Map.groupBy(ROWS, ({ id }) => orderOf(id)[0]);
    const sizes = [...groups].map(([group, rows]) => [group, rows.length]);
    expect(sizes).toEqual([
      ['A', 95],
      ['B', 37],
      ['2.', 64],
      ['3.', 48],
      ['4.', 113],
    ]);
  });

  it('has each id once, in order', () => {
    const ids = ROWS.map(({ id }) => id);
    expect(ids.filter((id) => !ID.test(id))).toEqual([]);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    for (const rows of Map.groupBy(ROWS, ({ id }) => orderOf(id)[0]).values()) {
      const numbers = rows.map(({ id }) => orderOf(id)[1]);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  });

  it('names only files that exist', () => {
    const wrong = ROWS.flatMap(({ id, files, tests }) =>
      missing([...pathsIn(files), ...pathsIn(tests)]).map((path) => `${id}: ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('gives each row a requirement and a status of the list', () => {
    expect(ROWS.filter(({ requirement, status }) => requirement === '' || !STATUS.test(status))).toEqual([]);
  });

  it('names what meets a requirement, and its test or that there is none', () => {
    const vague = ROWS.filter(({ status }) => !status.startsWith('not met')).filter(
      ({ files, tests }) =>
        pathsIn(files).length === 0 ||
        !(
          tests === 'no test' ||
          (pathsIn(tests).length > 0 && pathsIn(tests).every((path) => path.startsWith('test/')))
        ),
    );
    expect(vague).toEqual([]);
  });

  it('counts its rows right', () => {
    for (const section of TEXT.split(/^## /m).slice(1)) {
      const statuses = ROWS.filter(({ id }) => section.includes(`\n| ${id} |`)).map(
        ({ status }) => status.split(':')[0] ?? '',
      );
      const counted = [...Map.groupBy(statuses, (status) => status)]
        .map(([status, those]) => `${those.length} ${status}`)
        .toSorted((a, b) => a.replace(/^\d+ /, '').localeCompare(b.replace(/^\d+ /, '')));
      expect(section).toContain(`\n${counted.join(', ')}.\n`);
    }
  });
});
