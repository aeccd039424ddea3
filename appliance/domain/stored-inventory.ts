// Completes inventory objects that an earlier version stored: fields that it did not know get their default values.

import { PROFILE_DEFAULTS, type Profile, SKU_DEFAULTS, type Sku } from './catalogue.ts';
import { type EnrollmentMode, type MachineSpec, NODE_DEFAULTS } from './machine.ts';
import { NETWORK_DEFAULTS, SITE_DEFAULTS, type Site, type SiteNetwork } from './network.ts';

type Stored<T, Defaults> = Omit<T, keyof Defaults> & Partial<T>;

export const completeSite = (site: Stored<Site, typeof SITE_DEFAULTS>): Site => ({ ...SITE_DEFAULTS, ...site });

export const completeNetwork = (network: Stored<SiteNetwork, typeof NETWORK_DEFAULTS>): SiteNetwork => ({
  ...NETWORK_DEFAULTS,
  ...network,
});

export const completeSku = (sku: Stored<Sku, typeof SKU_DEFAULTS>): Sku => ({ ...SKU_DEFAULTS, ...sku });

export const completeProfile = (profile: Stored<Profile, typeof PROFILE_DEFAULTS>): Profile => ({
  ...PROFILE_DEFAULTS,
  ...profile,
});

/** Ten thousand are read at each start: a complete one is returned unchanged. */
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

/** `onboarding` is the old name of `enrollment`. */
type StoredSpec = Stored<MachineSpec, typeof NODE_DEFAULTS> & { readonly onboarding?: 'manual' | 'maas' | null };

const isComplete = (spec: StoredSpec): spec is MachineSpec =>
  spec.bonds !== undefined && spec.enrollment !== undefined && spec.tpm !== undefined;

export const enrollmentFromOnboarding = (onboarding: 'manual' | 'maas'): EnrollmentMode =>
  onboarding === 'maas' ? 'first-boot' : 'manual';
