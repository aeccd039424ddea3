import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contradictions } from '../../../appliance/provisioning/sessions/contradictions.ts';
import {
  boundedLog,
  boundedMessage,
  readFacts,
  readOpening,
  readStep,
} from '../../../appliance/provisioning/sessions/reports.ts';
import { MAC, machineIn, OTHER_MAC, OTHER_UUID, UUID } from '../../boot/boot-fixtures.ts';

const FACTS = {
  system: { manufacturer: 'Acme', product: 'Box', serial: 'S-1', uuid: UUID },
  cpu: { architecture: 'x86_64' },
  disks: [{ name: 'sda', bytes: 1 }],
  nics: [{ name: 'eth0', mac: MAC }],
};

describe('a report of a service OS', () => {
  it('is accepted without unknown fields', () => {
    const report = { step: 'inspect', status: 'started', password: 'x', more: { deep: true } };
    expect(readStep(report)).toEqual({ step: 'inspect', status: 'started' });
    expect(readFacts({ ...FACTS, disks: [{ name: 'sda', bytes: 1, secret: 'x' }] }).disks).toEqual([
      { name: 'sda', bytes: 1 },
    ]);
  });

  it.each([
    [readStep, { status: 'started' }, /step/],
    [readStep, { step: 'a b', status: 'started' }, /^step/],
    [readStep, { step: 'inspect', status: 'maybe' }, /^status/],
    [readStep, { step: 'inspect', status: 'progress', percent: 101 }, /^percent/],
    [readStep, { step: 'inspect', status: 'progress', sequence: 0 }, /^sequence/],
    [readFacts, { disks: [] }, /nics/],
    [readFacts, { ...FACTS, disks: [{ name: 'sda', bytes: -1 }] }, /^disks\.0\.bytes/],
    [readOpening, { mac: 5 }, /^mac/],
    [readOpening, { mac: MAC, nonce: 'short' }, /^nonce/],
    [readOpening, null, /^body/],
  ])('is rejected with the name of the invalid field (%#)', (read, value, place) => {
    expect(() => read(value)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(place) }),
    );
  });

  it('matches its type after the reader, whatever is sent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        try {
          expect(readStep(value).status).toMatch(/^(started|progress|done|failed)$/);
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_request' });
        }
      }),
    );
  });

  it('is truncated where it is too long, with a note: messages keep the beginning, logs the end', () => {
    expect(boundedMessage('x'.repeat(501))).toBe(`${'x'.repeat(500)}… (1 more characters)`);
    expect(boundedLog(`start${'x'.repeat(4000)}`)).toBe(
      `(5 characters before this were left out)\n${'x'.repeat(4000)}`,
    );
    expect(boundedMessage('')).toBeNull();
    expect(boundedLog(null)).toBeNull();
  });
});

describe('a machine that differs from its declaration', () => {
  const { spec } = machineIn('commissioning', { spec: { serial: 'S-1', secureBoot: true } });

  it('is reported field by field', () => {
    const facts = readFacts({
      ...FACTS,
      system: { serial: 'S-2', uuid: OTHER_UUID },
      cpu: { architecture: 'aarch64' },
      firmware: { secure_boot: false },
      nics: [{ name: 'eth0', mac: OTHER_MAC }],
    });
    expect(contradictions(spec, facts)).toEqual([
      { field: 'serial', declared: 'S-1', found: 'S-2' },
      { field: 'uuid', declared: UUID, found: OTHER_UUID },
      { field: 'architecture', declared: 'x86_64', found: 'arm64' },
      { field: 'secure_boot', declared: 'true', found: 'false' },
      { field: 'interfaces.eth0.mac', declared: MAC, found: OTHER_MAC },
    ]);
  });

  it('is not reported where both agree, or where one side is unknown', () => {
    expect(contradictions(spec, readFacts(FACTS))).toEqual([]);
    const undeclared = machineIn('commissioning', { spec: { uuid: null, serial: null } }).spec;
    expect(contradictions(undeclared, readFacts({ ...FACTS, system: { serial: 'x', uuid: OTHER_UUID } }))).toEqual([]);
  });
});
