// Converts the onboarding policy of a site or a profile. Only declared keys are kept: `policyOf` merges site, profile and defaults.

import { parsePrefix } from '../domain/ipv4.ts';
import { parseObjectName } from '../domain/names.ts';
import type { MaasPolicy, OnboardingSettings, SiteOnboarding } from '../domain/onboarding.ts';
import type { Fields } from './fields.ts';
import type { MaasSection, OnboardingSection, SiteOnboardingSection } from './schema-parts.ts';

export const declareOnboarding = (fields: Fields<{ onboarding?: OnboardingSection }>): OnboardingSettings =>
  fields.record('onboarding', settingsOf) ?? {};

export const declareSiteOnboarding = (fields: Fields<{ onboarding?: SiteOnboardingSection }>): SiteOnboarding =>
  fields.record('onboarding', (keys) => {
    const bmc = keys.record('bmc', (login) => ({
      driver: login.value('driver', 'ipmi') ?? 'ipmi',
      username: login.value('username', null) ?? null,
      passwordFile: login.value('password_file', null) ?? null,
    }));
    const networks = (keys.list('bmc_networks', parsePrefix) ?? []).flatMap((prefix) => prefix ?? []);
    const maasProfile = keys.record('maas', (maas) => maas.optional('profile', parseObjectName)) ?? null;
    return {
      ...settingsOf(keys as unknown as Fields<OnboardingSection>),
      ...(maasProfile && { maasProfile }),
      ...(bmc && { bmc }),
      ...(networks.length > 0 && { bmcNetworks: networks }),
    };
  }) ?? {};

/** A value that was rejected is left out: its problem has been reported. */
const settingsOf = (keys: Fields<OnboardingSection>): OnboardingSettings =>
  declared({
    provider: keys.value('provider', undefined),
    maas: keys.record('maas', maasOf) ?? undefined,
    adopt: keys.value('adopt', undefined),
    autoClaim: keys.value('auto_claim', undefined),
    strictPxe: keys.value('strict_pxe', undefined),
    retry: keys.has('retry') ? keys.values('retry', []) : undefined,
    retries: keys.value('retries', undefined),
    hardwareSync: keys.value('hardware_sync', undefined),
    siteBootstrap: keys.value('site_bootstrap', undefined),
    discoveryMinutes: keys.value('discovery_minutes', undefined),
  } satisfies Optionally<OnboardingSettings>);

const maasOf = (keys: Fields<MaasSection>): Partial<MaasPolicy> =>
  declared({
    enableSsh: keys.value('enable_ssh', undefined),
    skipBmcConfig: keys.value('skip_bmc_config', undefined),
    distroSeries: keys.value('distro_series', undefined),
    hweKernel: keys.value('hwe_kernel', undefined),
    storageLayout: keys.value('storage_layout', undefined),
    erase: keys.value('erase', undefined),
    eraseMinutes: keys.value('erase_minutes', undefined),
  } satisfies Optionally<MaasPolicy>);

type Optionally<T> = { readonly [Key in keyof T]-?: T[Key] | undefined };

const declared = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
