import { describe, expect, it } from 'vitest';
import { decideBoot } from '../../appliance/boot/decide-boot.ts';
import type { NextStage } from '../../appliance/boot/next-stage.ts';
import { factsOf, NOW, networkWith } from './boot-fixtures.ts';
import { FIRST_STAGE_CASES } from './next-stage-cases.ts';

function text(stage: NextStage): string {
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
    const { nextStage } = decideBoot(question);
    expect(text(nextStage)).toBe(handed);
    expect(nextStage.because.id).toBe(because);
  });

  it.each(['firmware-pxe', 'firmware-http', 'ipxe', 'loader', 'os'] as const)(
    'is nothing for %s where the decision is silence, with the same reason',
    (program) => {
      const network = networkWith({ unknown: 'ignore' });
      const facts = factsOf(7, { program, via: 'tftp', file: 'ipxe.efi' });
      const decision = decideBoot({ facts, machine: null, network, profile: null, now: NOW });
      expect(decision.outcome.kind).toBe('silent');
      expect(decision.nextStage).toEqual({ kind: 'nothing', because: decision.because });
    },
  );

  it('tells the protocol fact behind the loader', () => {
    const ask = (code: number) =>
      decideBoot({ facts: factsOf(code), machine: null, network: networkWith(), profile: null, now: NOW });
    expect(ask(7).nextStage.because.words).toBe(
      'architecture 7 (EFI x86-64): ipxe.efi brings drivers for every card it knows',
    );
    expect(ask(2).nextStage.because.words).toBe(
      'no loader for architecture 2 (IA64 EFI): no machine of this kind is made any more',
    );
  });
});
