import { describe, expect, it } from 'vitest';
import { Registry } from '../../appliance/metrics/registry.ts';

const TABLE = {
  things: { kind: 'counter', help: 'A "thing"\nor \\ two', labels: ['name'] },
  level: { kind: 'gauge', help: 'Level', labels: [] },
  took_seconds: { kind: 'histogram', help: 'Took', labels: ['what'], buckets: [0.5, 1] },
} as const;

describe('the exposition', () => {
  it('in OpenMetrics names the family without suffix, escapes labels and help, and ends with EOF', () => {
    const registry = new Registry(TABLE);
    registry.add('things', ['a "b"\\\n']);
    registry.add('things', ['a "b"\\\n'], 2);
    registry.set('level', [], 1.5);
    for (const value of [0.5, 0.6, 7]) registry.observe('took_seconds', ['x'], value);
    expect(registry.text(true)).toBe(`# HELP things A \\"thing\\"\\nor \\\\ two
# TYPE things counter
things_total{name="a \\"b\\"\\\\\\n"} 3
# HELP level Level
# TYPE level gauge
level 1.5
# HELP took_seconds Took
# TYPE took_seconds histogram
took_seconds_bucket{what="x",le="0.5"} 1
took_seconds_bucket{what="x",le="1.0"} 2
took_seconds_bucket{what="x",le="+Inf"} 3
took_seconds_sum{what="x"} 8.1
took_seconds_count{what="x"} 3
# EOF
`);
  });

  it('in the Prometheus format names the family as its samples', () => {
    const registry = new Registry(TABLE);
    registry.add('things', ['a']);
    expect(registry.text(false)).toContain('# TYPE things_total counter\nthings_total{name="a"} 1\n');
    expect(registry.text(false)).not.toContain('EOF');
  });

  it('does not grow without limit, whatever the labels are', () => {
    const registry = new Registry(TABLE);
    for (let n = 0; n < 5000; n += 1) registry.add('things', [`name ${n}`]);
    const lines = registry
      .text(true)
      .split('\n')
      .filter((line) => line.startsWith('things_total'));
    expect(lines).toHaveLength(2001);
    expect(lines).toContain('things_total{name="other"} 3000');
  });
});
