// What the agent of a node reports about its system, also when the report is hostile.

import { describe, expect, it } from 'vitest';
import {
  cloudInitFailed,
  isDegraded,
  knownSystem,
  lastLines,
  MOST_LINES,
  MOST_UNITS,
  readNodeSystem,
} from '../../../appliance/domain/events/node-system.ts';

const UNITS = `unit data.mount exit-code
line mount: /data: special device /dev/sdq1 does not exist.
unit web.service timeout
unit quiet.service
`;

describe('a report about the system of a node', () => {
  it('lists failed units with their result and their last lines', () => {
    const system = readNodeSystem(UNITS, '');
    expect(system).toEqual({
      units: [
        {
          unit: 'data.mount',
          result: 'exit-code',
          lines: ['mount: /data: special device /dev/sdq1 does not exist.'],
        },
        { unit: 'web.service', result: 'timeout', lines: [] },
        { unit: 'quiet.service', result: 'failed', lines: [] },
      ],
      more_units: 0,
      cloud_init: null,
    });
    expect(isDegraded(system)).toBe(true);
    expect(isDegraded(readNodeSystem('', ''))).toBe(false);
  });

  it('reads both forms that cloud-init writes', () => {
    const failed = JSON.stringify({
      status: 'error',
      errors: ["('scripts-vendor', RuntimeError('Runparts: 1 failures'))"],
      recoverable_errors: { WARNING: ['Failed to run module scripts-vendor'], DEPRECATED: ['old key'] },
      init: { start: 1 },
    });
    expect(readNodeSystem('', failed).cloud_init).toEqual({
      status: 'error',
      errors: ["('scripts-vendor', RuntimeError('Runparts: 1 failures'))"],
      warnings: ['Failed to run module scripts-vendor'],
    });
    expect(cloudInitFailed(readNodeSystem('', failed))).toBe(true);
    const result = JSON.stringify({ v1: { datasource: 'DataSourceNoCloud', errors: [] } });
    expect(readNodeSystem('', result).cloud_init).toEqual({ status: 'done', errors: [], warnings: [] });
    expect(isDegraded(readNodeSystem('', result))).toBe(false);
    expect(readNodeSystem('', '{"v1":{"errors":["x"]}}').cloud_init?.status).toBe('error');
  });

  it.each(['{', 'null', '[]', '{"errors":7}', 'status: done'])('says that %s cannot be read', (text) => {
    const { cloud_init: end } = readNodeSystem('', text);
    expect([end?.status, end?.errors]).toEqual(['its status cannot be read', []]);
  });

  it('is bounded', () => {
    const unit = (n: number) => `unit u${n}.service exit-code\n${'line text\n'.repeat(50)}`;
    const { units, more_units: more } = readNodeSystem(Array.from({ length: 30 }, (_, n) => unit(n)).join(''), '');
    expect([units.length, more]).toEqual([MOST_UNITS, 30 - MOST_UNITS]);
    expect(units[0]?.lines).toHaveLength(MOST_LINES);
    expect(readNodeSystem(`unit ${'n'.repeat(9000)} ${'r'.repeat(9000)}\nline ${'x'.repeat(9000)}`, '').units).toEqual([
      { unit: `${'n'.repeat(127)}…`, result: `${'r'.repeat(127)}…`, lines: [`${'x'.repeat(299)}…`] },
    ]);
  });

  it('has no control characters and no secrets', () => {
    const [line = ''] = lastLines(['\u001b[2Jlogin with password=hunter2\u202e']);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).not.toContain('hunter2');
    const key = ['-----BEGIN PRIVATE KEY-----', 'MIIEvQ', '-----END PRIVATE KEY-----', 'after'];
    expect(lastLines(key)).toEqual(['[secret]', '[secret]', '[secret]', 'after']);
  });

  it('is known again when it was stored, and not in another shape', () => {
    const system = readNodeSystem(UNITS, '');
    expect(knownSystem(JSON.parse(JSON.stringify(system)))).toEqual(system);
    expect(knownSystem({ units: 'many' })).toBeNull();
    expect(knownSystem(undefined)).toBeNull();
  });
});
