// All faults of `npm run mutants`.

import { CODEC_FAULTS } from './faults/codecs.ts';
import { DECISION_FAULTS } from './faults/decisions.ts';
import { IDENTITY_FAULTS } from './faults/identity.ts';
import { STORE_FAULTS } from './faults/store.ts';
import { TEXT_FAULTS } from './faults/texts.ts';
import { TPM_FAULTS } from './faults/tpm.ts';
import type { Mutant } from './mutant.ts';

export const MUTANTS: readonly Mutant[] = [
  ...STORE_FAULTS,
  ...DECISION_FAULTS,
  ...CODEC_FAULTS,
  ...IDENTITY_FAULTS,
  ...TEXT_FAULTS,
  ...TPM_FAULTS,
];
