import { describe, expect, it } from 'vitest';
import { decideBoot } from '../../appliance/policy/decide-boot.ts';
import type { FirstStage } from '../../appliance/policy/first-stage.ts';
import { factsOf, NOW, networkWith } from './boot-fixtures.ts';
import { FIRST_STAGE_CASES } from './first-stage-cases.ts';

function text(stage: FirstStage): string {
  switch (stage.kind) {
    case 'nothing':
      return 'nothing';
    case 'loader':
      return `${stage.transport}:${stage.file}`;
    case 'script':
      return stage.path;
    case 'requested-file':
      return `file:${stage.file}`;
  }
}

describe('the first stage', () => {
  it.each(FIRST_STAGE_CASES)('hands $sentence: $handed', ({ question, handed, because }) => {
    const { firstStage } = decideBoot(question);
    expect(text(firstStage)).toBe(handed);
    expect(firstStage.because.id).toBe(because);
  });

  it.each(['firmware-pxe', 'firmware-http', 'ipxe', 'loader', 'os'] as const)(
    'is nothing for %s where the decision is silence, with the same reason',
    (program) => {
      const network = networkWith({ unknown: 'ignore' });
      const facts = factsOf(7, { program, via: 'tftp', file: 'ipxe.efi' });
      const decision = decideBoot({ facts, machine: null, network, profile: null, now: NOW });
      expect(decision.outcome.kind).toBe('silent');
      expect(decision.firstStage).toEqual({ kind: 'nothing', because: decision.because });
    },
  );

  it('tells the protocol fact behind the loader', () => {
    const ask = (code: number) =>
      decideBoot({ facts: factsOf(code), machine: null, network: networkWith(), profile: null, now: NOW });
    expect(ask(7).firstStage.because.words).toBe(
      'architecture 7 (EFI x86-64): ipxe.efi brings drivers for every card it knows',
    );
    expect(ask(2).firstStage.because.words).toBe(
      'no loader for architecture 2 (IA64 EFI): no machine of this kind is made any more',
    );
  });
});
