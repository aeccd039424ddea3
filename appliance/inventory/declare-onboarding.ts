// Converts the onboarding policy of a site or a profile. Only declared keys are kept: `policyOf` merges site, profile and defaults.

import { parsePrefix } from '../domain/ipv4.ts';
import type { OnboardingSettings, SiteOnboarding } from '../domain/onboarding.ts';
import type { Fields } from './fields.ts';
import type { OnboardingSection, SiteOnboardingSection } from './schema-parts.ts';

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
    return {
      ...settingsOf(keys as unknown as Fields<OnboardingSection>),
      ...(bmc && { bmc }),
      ...(networks.length > 0 && { bmcNetworks: networks }),
    };
  }) ?? {};

/** A value that was rejected is left out: its problem has been reported. */
const settingsOf = (keys: Fields<OnboardingSection>): OnboardingSettings =>
  Object.fromEntries(
    Object.entries({
      adopt: keys.value('adopt', undefined),
      autoClaim: keys.value('auto_claim', undefined),
      strictPxe: keys.value('strict_pxe', undefined),
      retry: keys.has('retry') ? keys.values('retry', []) : undefined,
      retries: keys.value('retries', undefined),
      hardwareSync: keys.value('hardware_sync', undefined),
      siteBootstrap: keys.value('site_bootstrap', undefined),
      discoveryMinutes: keys.value('discovery_minutes', undefined),
    } satisfies { readonly [Key in keyof OnboardingSettings]-?: OnboardingSettings[Key] | undefined }).filter(
      ([, value]) => value !== undefined,
    ),
  );
