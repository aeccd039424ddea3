// The identity of a session whose machine shows nothing but its MAC address.

import type { SessionIdentity } from '../../../appliance/domain/session.ts';

export const ASSERTED: SessionIdentity = {
  level: 'asserted',
  key: 'clear',
  salt: null,
  shown: { uuid: null, serial: null, macs: [], tpm: null, tpmProblem: null },
};
