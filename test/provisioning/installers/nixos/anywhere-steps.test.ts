import { describe, expect, it } from 'vitest';
import { INSTALL_STEPS, readAnywhereLine } from '../../../../appliance/provisioning/installers/nixos/anywhere-steps.ts';
import { REAL_STEPS } from './fake-anywhere.ts';

const OTHERS = [
  'Generating hardware-configuration.nix using nixos-generate-config',
  'Uploading /run/push-x/disk-key to /tmp/disk-encryption.key',
  'Building disko script',
  'Building the system closure',
];

describe('the output of nixos-anywhere', () => {
  it('is recognized line by line, with increasing progress', () => {
    const order = REAL_STEPS.slice(0, -1).map((name) => {
      const line = readAnywhereLine(`### ${name} ###`);
      if (line.kind !== 'step' || line.means === null) throw new Error(name);
      expect(line.means.limit).toBeGreaterThan(0);
      return INSTALL_STEPS.indexOf(line.means.step) * 100 + line.means.percent;
    });
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(new Set(order).size).toBe(order.length);
  });

  it.each(OTHERS)('is recognized for an optional step: %s', (name) => {
    expect(readAnywhereLine(`### ${name} ###`)).toMatchObject({ kind: 'step', means: expect.anything() });
  });

  it.each([
    ['### Done! ###', { kind: 'finished' }],
    ['### Done! ### or not', { kind: 'other' }],
    ['Done!', { kind: 'other' }],
    ['### Something new ###', { kind: 'step', name: 'Something new', means: null }],
    ['aborted: no tar command found', { kind: 'aborted', reason: 'no tar command found' }],
    ['it was aborted: maybe', { kind: 'other' }],
    ['', { kind: 'other' }],
  ])('%j', (line, means) => {
    expect(readAnywhereLine(line)).toEqual(means);
  });
});
