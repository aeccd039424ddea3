// What would stop a run through MAAS later: before its machine is touched, and before it is deployed.

import type { FailureClass, OnboardingPolicy, OnboardingRequest } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { requestProblems } from '../../onboarding/request-problems.ts';
import type { MaasApi } from './maas-api.ts';

export interface MaasFinding {
  readonly about: FailureClass;
  readonly problem: string;
}

export interface MaasPreflightDeps {
  readonly api: Pick<MaasApi, 'version' | 'whoami'>;
  readonly fleet: Fleet;
  /** Problems of the appliance that prevent any work. */
  readonly blockingProblems: () => readonly string[];
}

const OLDEST = [3, 3] as const;

/** An unreachable MAAS is thrown: the run waits for it. */
export async function maasPreflight(
  { api, fleet, blockingProblems }: MaasPreflightDeps,
  request: OnboardingRequest,
  { siteBootstrap }: OnboardingPolicy,
): Promise<readonly MaasFinding[]> {
  const version = await api.version();
  const user = await api.whoami();
  const site = fleet.site(request.site);
  const profile = fleet.profile(request.profile);
  const unknown = (problem: string): MaasFinding => ({ about: 'unknown', problem });
  return [
    ...[...blockingProblems(), ...requestProblems(fleet, request)].map(unknown),
    ...(isSupported(version) ? [] : [unknown(`MAAS ${version} is older than ${OLDEST.join('.')}`)]),
    ...(user.admin ? [] : [unknown(`the MAAS user ${user.name} is no administrator: it cannot commission machines`)]),
    ...(site !== null && siteBootstrap === 'required' && site.bootstrap === null
      ? [
          {
            about: 'site-bootstrap',
            problem: `site ${site.name} has no bootstrap script, and its policy requires one`,
          } as const,
        ]
      : []),
    ...(profile?.roce
      ? [
          {
            about: 'network',
            problem: `profile ${profile.name} uses high-speed links (roce), which MAAS does not set up`,
          } as const,
        ]
      : []),
    ...((profile?.enrollment ?? 'first-boot') === 'first-boot'
      ? []
      : [
          {
            about: 'node-bootstrap',
            problem: `profile ${profile?.name} is enrolled by hand: MAAS installs the bundle at the first boot`,
          } as const,
        ]),
  ];
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}
