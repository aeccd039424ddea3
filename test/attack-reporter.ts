// Prints one line after a run with attacks: how many were tried, how many got through, how many damaged inputs were sent.

import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { isAttack, numberText, totalInputs } from './attack-tally.ts';

interface Attack {
  readonly passed: boolean;
  readonly inputs: number;
}

export function attackLine(attacks: readonly Attack[]): string | null {
  if (attacks.length === 0) return null;
  const through = attacks.filter(({ passed }) => !passed).length;
  const inputs = attacks.reduce((sum, attack) => sum + attack.inputs, 0);
  return `attacks: ${numberText(attacks.length)} tried, ${numberText(through)} got through; damaged inputs: ${numberText(inputs)} of ${numberText(totalInputs())}`;
}

export class AttackReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const attacks = modules
      .filter(({ moduleId }) => isAttack(relative(process.cwd(), moduleId)))
      .flatMap((module) => [...module.children.allTests()])
      .flatMap((test): Attack[] => {
        const { state } = test.result();
        if (state !== 'passed' && state !== 'failed') return [];
        return [{ passed: state === 'passed', inputs: test.meta().inputs ?? 0 }];
      });
    const line = attackLine(attacks);
    if (line !== null) console.log(`\n${line}`);
  }
}
