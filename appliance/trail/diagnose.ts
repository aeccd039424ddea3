// Why a machine is not where it should be: rules over its events, from the last stage of a boot to the first. The first rule that
// fits is the most likely reason, because every stage before it has worked.

import { ADDRESS_RULES } from './diagnosis/address-rules.ts';
import { LOADER_RULES } from './diagnosis/loader-rules.ts';
import { POWER_RULES } from './diagnosis/power-rules.ts';
import type { Diagnosis, Rule } from './diagnosis/rule.ts';
import { SESSION_RULES } from './diagnosis/session-rules.ts';
import { type Case, signsOf } from './diagnosis/signs.ts';
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

/** Null: no rule fits. Nothing is wrong with the machine, or nobody has asked anything of it. */
export function diagnose(subject: Case): Diagnosis | null {
  const signs = signsOf(subject);
  for (const { id, fits, reason, nextStep } of RULES) {
    const evidence = fits(signs);
    if (evidence) return { id, reason: reason(signs), nextStep: nextStep(signs), evidence };
  }
  return null;
}
