// What would stop a run later, checked before its machine is touched: the appliance, the site, and the way to a machine of which only the
// BMC address is known.

import type { BootContract } from '../../assets/boot-contract.ts';
import type { FailureClass, OnboardingPolicy, OnboardingRequest } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { requestProblems } from '../../onboarding/request-problems.ts';
import { type ApplianceGuardDeps, blockingProblems } from '../../provisioning/appliance-guards.ts';

export interface PreflightDeps extends Pick<ApplianceGuardDeps, 'applianceProblems'> {
  readonly fleet: Fleet;
  readonly bootContract: () => Promise<BootContract>;
}

export interface PreflightFinding {
  readonly about: FailureClass;
  readonly problem: string;
}

export async function preflightProblems(
  deps: PreflightDeps,
  request: OnboardingRequest,
  { strictPxe, siteBootstrap }: OnboardingPolicy,
): Promise<readonly PreflightFinding[]> {
  const { fleet } = deps;
  const findings: PreflightFinding[] = [];
  const found = (about: FailureClass, problems: readonly string[]): void => {
    findings.push(...problems.map((problem) => ({ about, problem })));
  };
  found('unknown', [...blockingProblems(deps), ...requestProblems(fleet, request)]);
  const site = fleet.site(request.site);
  if (site !== null && siteBootstrap === 'required' && site.bootstrap === null) {
    found('site-bootstrap', [`site ${site.name} has no bootstrap script, and its policy requires one`]);
  }
  const profile = fleet.profile(request.profile);
  const links = fleet.inventory().roce.some((one) => one.site === request.site && one.hostname === request.hostname);
  if (profile?.roce && !links) {
    found('network', [
      `profile ${profile.name} uses high-speed links (roce), and none are assigned to ${request.hostname}`,
    ]);
  }
  if (site?.bmcMode === 'disabled') found('bmc', [`BMC access is disabled for site ${site.name} (bmc_mode disabled)`]);
  found('network', networkProblems(fleet, request));
  if (strictPxe)
    found(
      'image',
      (await deps.bootContract()).problems.map((problem) => `boot files: ${problem}`),
    );
  return findings;
}

/** A machine without a known MAC address is found when it boots: a network of its site must list unknown machines. */
function networkProblems(fleet: Fleet, { site, hostname, bmcAddress }: OnboardingRequest): string[] {
  const machine = fleet.machineByHostname(hostname) ?? fleet.machineByBmc(bmcAddress);
  const networks = [...fleet.networks()].filter((network) => network.site === site && network.server !== null);
  if (networks.length === 0) return [`no network of site ${site} names this appliance (server:)`];
  const isKnown = machine?.spec.interfaces.some(({ mac }) => mac !== null) === true;
  if (isKnown || networks.some(({ unknown }) => unknown !== 'ignore')) return [];
  return [`its MAC address is not known, and every network of site ${site} ignores unknown machines (unknown: ignore)`];
}
