// Finds the most likely reason why a machine is stuck: rules over its events, from the last boot stage to the first. The first
// rule that matches wins, because every earlier stage has succeeded.

import { ADDRESS_RULES } from './diagnosis/address-rules.ts';
import { LOADER_RULES } from './diagnosis/loader-rules.ts';
import { POWER_RULES } from './diagnosis/power-rules.ts';
import type { Diagnosis, Rule } from './diagnosis/rule.ts';
import { SESSION_RULES } from './diagnosis/session-rules.ts';
import { type DiagnosisInput, signsOf } from './diagnosis/signs.ts';
import { STATE_RULES } from './diagnosis/state-rules.ts';
import { SYSTEM_RULES } from './diagnosis/system-rules.ts';

export const RULES: readonly Rule[] = [
  ...STATE_RULES,
  ...SESSION_RULES,
  ...SYSTEM_RULES,
  ...LOADER_RULES,
  ...ADDRESS_RULES,
  ...POWER_RULES,
];

/** Null: no rule matches. The machine works, or no work was requested. */
export function diagnose(subject: DiagnosisInput): Diagnosis | null {
  const signs = signsOf(subject);
  for (const { id, matches, reason, nextStep } of RULES) {
    const evidence = matches(signs);
    if (evidence) return { id, reason: reason(signs), nextStep: nextStep(signs), evidence };
  }
  return null;
}
