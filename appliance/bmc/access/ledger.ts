// The persistent quirk ledger: what worked for one machine is known for the next of its kind, also after a restart.

import type { Instant } from '../../domain/instant.ts';
import type { BmcStore } from '../../store/bmc-store.ts';
import { bestOf, type QuirkLedger } from '../quirk-ledger.ts';

export function storedLedger(store: Pick<BmcStore, 'bmcQuirks' | 'countBoot'>, now: () => Instant): QuirkLedger {
  return {
    best: async ({ vendor, product, firmware }) =>
      bestOf(
        (await store.bmcQuirks()).filter(
          (quirk) => quirk.vendor === vendor && quirk.product === product && quirk.firmware === firmware,
        ),
      ),
    worked: ({ vendor, product, firmware }, method) =>
      store.countBoot({ vendor, product, firmware, method, obeyed: true, at: now() }),
    ignored: ({ vendor, product, firmware }, method) =>
      store.countBoot({ vendor, product, firmware, method, obeyed: false, at: now() }),
  };
}
