// What is wrong with a request for onboarding, by the catalogue as it is now: all reasons at once, each with the field of the request.

import type { OnboardingRequest } from '../domain/onboarding.ts';
import type { Fleet } from '../inventory/fleet.ts';

export function requestProblems(
  fleet: Pick<Fleet, 'site' | 'profile' | 'sku'>,
  { site, profile, sku }: OnboardingRequest,
): string[] {
  const known = { site: fleet.site(site), profile: fleet.profile(profile), sku: fleet.sku(sku) };
  const suits = known.profile === null || known.profile.skus.length === 0 || known.profile.skus.includes(sku);
  const fits = !known.sku || !known.profile || known.profile.architectures.includes(known.sku.architecture);
  const region = known.site?.region ?? null;
  const offered = !known.sku || known.sku.regions.length === 0 || region === null || known.sku.regions.includes(region);
  return [
    ...(known.site ? [] : [`site_id: there is no site ${site}`]),
    ...(known.profile ? [] : [`profile_id: there is no profile ${profile}`]),
    ...(known.sku ? [] : [`sku_id: the catalogue has no SKU ${sku}`]),
    ...(known.profile?.active === false ? [`profile_id: profile ${profile} is not active`] : []),
    ...(known.sku?.active === false ? [`sku_id: SKU ${sku} is not active`] : []),
    ...(suits ? [] : [`profile_id: profile ${profile} is for ${known.profile?.skus.join(', ')}, not for ${sku}`]),
    ...(fits ? [] : [`profile_id: profile ${profile} is not for ${known.sku?.architecture}, which SKU ${sku} is`]),
    ...(offered ? [] : [`sku_id: SKU ${sku} is offered in ${known.sku?.regions.join(', ')}, not in ${region}`]),
  ];
}
