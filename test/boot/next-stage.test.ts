import { describe, expect, it } from 'vitest';
import { decideBoot } from '../../appliance/boot/decide-boot.ts';
import type { NextStage } from '../../appliance/boot/next-stage.ts';
import { factsOf, NOW, networkWith } from './boot-fixtures.ts';
import { NEXT_STAGE_CASES } from './next-stage-cases.ts';

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

describe('the next stage', () => {
  it.each(NEXT_STAGE_CASES)('of $sentence is $gets', ({ question, gets, because }) => {
    const { nextStage } = decideBoot(question);
    expect(text(nextStage)).toBe(gets);
    expect(nextStage.because.id).toBe(because);
  });

  it.each(['firmware-pxe', 'firmware-http', 'ipxe', 'loader', 'os'] as const)(
    'is nothing for %s where the decision is to send no reply, with the same reason',
    (program) => {
      const network = networkWith({ unknown: 'ignore' });
      const facts = factsOf(7, { program, via: 'tftp', file: 'ipxe.efi' });
      const decision = decideBoot({ facts, machine: null, network, profile: null, now: NOW });
      expect(decision.outcome.kind).toBe('silent');
      expect(decision.nextStage).toEqual({ kind: 'nothing', because: decision.because });
    },
  );

  it('gives the protocol reason for the loader', () => {
    const ask = (code: number) =>
      decideBoot({ facts: factsOf(code), machine: null, network: networkWith(), profile: null, now: NOW });
    expect(ask(7).nextStage.because.words).toBe(
      'architecture 7 (EFI x86-64): ipxe.efi has drivers of its own for many cards',
    );
    expect(ask(2).nextStage.because.words).toBe(
      'no loader for architecture 2 (IA64 EFI): machines of this kind are no longer made',
    );
  });
});
