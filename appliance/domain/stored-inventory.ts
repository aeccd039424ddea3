// Objects of the inventory as an earlier version wrote them: what it did not know yet gets the value of one of which nobody
// said anything.

import { PROFILE_DEFAULTS, type Profile } from './catalogue.ts';
import { type EnrollmentMode, type MachineSpec, NODE_DEFAULTS } from './machine.ts';
import { NETWORK_DEFAULTS, SITE_DEFAULTS, type Site, type SiteNetwork } from './network.ts';

type Stored<T, Defaults> = Omit<T, keyof Defaults> & Partial<T>;

export const completeSite = (site: Stored<Site, typeof SITE_DEFAULTS>): Site => ({ ...SITE_DEFAULTS, ...site });

export const completeNetwork = (network: Stored<SiteNetwork, typeof NETWORK_DEFAULTS>): SiteNetwork => ({
  ...NETWORK_DEFAULTS,
  ...network,
});

export const completeProfile = (profile: Stored<Profile, typeof PROFILE_DEFAULTS>): Profile => ({
  ...PROFILE_DEFAULTS,
  ...profile,
});

/** Ten thousand are read at every start: one that is complete is handed back as it is. */
export function completeSpec(stored: StoredSpec): MachineSpec {
  if (isComplete(stored)) return stored;
  const { onboarding, ...spec } = stored;
  return {
    ...NODE_DEFAULTS,
    ...(onboarding && { enrollment: enrollmentFromOnboarding(onboarding) }),
    ...spec,
    interfaces: spec.interfaces.map((nic) => ({ ...nic, mtu: nic.mtu ?? null })),
  };
}

/** `onboarding` is what `enrollment` was called. */
type StoredSpec = Stored<MachineSpec, typeof NODE_DEFAULTS> & { readonly onboarding?: 'manual' | 'maas' | null };

const isComplete = (spec: StoredSpec): spec is MachineSpec => spec.bonds !== undefined && spec.enrollment !== undefined;

export const enrollmentFromOnboarding = (onboarding: 'manual' | 'maas'): EnrollmentMode =>
  onboarding === 'maas' ? 'first-boot' : 'manual';
