// What would stop a run later, checked before its machine is touched: the appliance, the site, and the way to a machine of which only the
// BMC address is known.

import type { BootContract } from '../../assets/boot-contract.ts';
import type { FailureClass, OnboardingPolicy, OnboardingRequest } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { requestProblems } from '../../onboarding/request-problems.ts';
import { type ApplianceGuardDeps, blockingProblems } from '../../provisioning/appliance-guards.ts';
import { roceProblems } from '../../provisioning/roce-problems.ts';

export interface PreflightDeps extends Pick<ApplianceGuardDeps, 'applianceProblems'> {
  readonly fleet: Fleet;
  readonly bootContract: () => Promise<BootContract>;
  /** Its BMC names the one card that it boots from. */
  readonly namesCard: () => Promise<boolean>;
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
  const profile = fleet.profile(request.profile);
  const bootstrap = profile?.bootstrap ?? site?.bootstrap ?? null;
  if (site !== null && siteBootstrap === 'required' && bootstrap === null) {
    const neither = `neither profile ${request.profile} nor site ${site.name} has a bootstrap script`;
    found('site-bootstrap', [`${neither}, and policy requires one`]);
  }
  found('network', roceProblems(fleet, profile, request));
  if (site?.bmcMode === 'disabled') found('bmc', [`BMC access is disabled for site ${site.name} (bmc_mode disabled)`]);
  found('network', await networkProblems(deps, request));
  if (strictPxe)
    found(
      'image',
      (await deps.bootContract()).problems.map((problem) => `boot files: ${problem}`),
    );
  return findings;
}

/** A machine whose MAC address nobody knows is found when it boots: a network of its site must list unknown machines. */
async function networkProblems(
  { fleet, namesCard }: PreflightDeps,
  { site, hostname, bmcAddress }: OnboardingRequest,
): Promise<string[]> {
  const machine = fleet.machineByHostname(hostname) ?? fleet.machineByBmc(bmcAddress);
  const networks = [...fleet.networks()].filter((network) => network.site === site && network.server !== null);
  if (networks.length === 0) return [`no network of site ${site} names this appliance (server:)`];
  const isKnown = machine?.spec.interfaces.some(({ mac }) => mac !== null) === true;
  if (isKnown || networks.some(({ unknown }) => unknown !== 'ignore') || (await namesCard())) return [];
  return [
    `neither the inventory nor its BMC names its MAC address, and every network of site ${site} ignores unknown machines (unknown: ignore)`,
  ];
}
