// A site that uses no BMCs.

import type { ReadsPower } from '../../appliance/identity/twin-watch.ts';

export const NO_POWER: ReadsPower = {
  observe: () => undefined,
  mayRead: () => false,
  read: () => Promise.reject(new Error('there is no BMC')),
  hasObeyed: async () => false,
};
