import type { Profile } from '../../domain/catalogue.ts';
import type { RequiredIdentity } from '../../domain/hardware-identity.ts';
import type { Machine } from '../../domain/machine.ts';
import type { ObjectName } from '../../domain/names.ts';

/** What the profile that a machine gets, or would get, requires of it. */
export const requiredIdentity =
  (profileOf: (name: ObjectName) => Profile | null) =>
  ({ intent, spec }: Machine): RequiredIdentity => {
    const profile = intent?.profile ?? spec.profile;
    return (profile && profileOf(profile)?.identity) ?? 'bound';
  };
