// What people do with onboarding runs: request, confirm, cancel, try again. Each is one write of the record, with its event and audit entry;
// the runner does the rest.

import { ColdironError, type ErrorCode } from '../domain/errors.ts';
import type { Json, NewAuditEntry, Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import { contains, parseIpv4 } from '../domain/ipv4.ts';
import { parseHostname, parseObjectName } from '../domain/names.ts';
import {
  isOpen,
  type Onboarding,
  type OnboardingId,
  type OnboardingPolicy,
  type OnboardingRequest,
  type ProviderName,
  policyOf,
} from '../domain/onboarding.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import { mayActAs, type Role } from '../domain/token.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { Store } from '../store/store.ts';
import type { OnboardingRunner } from './onboarding-runner.ts';
import { requestProblems } from './request-problems.ts';
import { cancelRequested, confirmed, type RunChange, reopened, requested } from './run-changes.ts';

export interface OnboardingsDeps {
  readonly store: Pick<
    Store,
    'createOnboarding' | 'updateOnboarding' | 'onboarding' | 'onboardings' | 'hasCompletedOnboarding'
  >;
  readonly fleet: Pick<Fleet, 'site' | 'profile' | 'sku' | 'machineByBmc'>;
  readonly runner: Pick<OnboardingRunner, 'wake'>;
  /** The provider of new runs of this site. `service_unavailable` when it is not configured. */
  readonly providerOf: (request: OnboardingRequest) => string;
  readonly now: () => Instant;
  readonly newId: () => string;
}

/** The five fields, as they were sent. */
export interface RequestedFields {
  readonly site_id: string;
  readonly profile_id: string;
  readonly sku_id: string;
  readonly hostname: string;
  readonly ipmi_ip: string;
}

const MAX_TRIES = 5;

export class Onboardings {
  readonly #deps: OnboardingsDeps;

  constructor(deps: OnboardingsDeps) {
    this.#deps = deps;
  }

  /** `role`: of whoever asks. `chosen`: the provider, where the caller chose it and not the policy. */
  async request(
    fields: RequestedFields,
    origin: Origin,
    role: Role | null,
    chosen: ProviderName | null = null,
  ): Promise<Onboarding> {
    const { store, fleet, now, newId, providerOf, runner } = this.#deps;
    const request = readRequest(fields);
    const problems = requestProblems(fleet, request);
    if (problems.length > 0) {
      const code: ErrorCode = problems.every((problem) => problem.startsWith('sku_id'))
        ? 'invalid_sku'
        : 'invalid_request';
      throw new ColdironError(code, problems.join('; '), problems.length > 1 ? problems : []);
    }
    requireBmcRights(fleet, request, role);
    const firstOfSite = !(await store.hasCompletedOnboarding(request.site));
    const id = newId() as OnboardingId;
    const fresh = { id, request, provider: chosen ?? providerOf(request), origin, now: now() };
    const { run, events } = requested(fresh, { firstOfSite });
    await store.createOnboarding(run, events, [audited(run, 'onboarding.requested', origin, now(), { ...fields })]);
    runner.wake(id);
    return run;
  }

  /** `hostname` is typed by the person who confirms. */
  confirm(id: string, hostname: string, origin: Origin): Promise<Onboarding> {
    return this.#change(id, 'onboarding.confirmed', origin, (run) => {
      if (run.state !== 'awaiting-confirmation') throw notPossible(run, 'it waits for no confirmation');
      if (hostname !== run.request.hostname) {
        throw new ColdironError('invalid_request', `hostname: the host of this run is ${run.request.hostname}`);
      }
      return confirmed(run, origin, this.#deps.now());
    });
  }

  cancel(id: string, origin: Origin): Promise<Onboarding> {
    return this.#change(id, 'onboarding.cancelled', origin, (run) => {
      if (!isOpen(run.state)) throw notPossible(run, 'there is nothing to cancel');
      return run.cancel === null ? cancelRequested(run, origin, this.#deps.now()) : null;
    });
  }

  /** The same run continues with the next attempt. */
  retry(id: string, origin: Origin): Promise<Onboarding> {
    return this.#change(id, 'onboarding.reopened', origin, (run) => {
      if (run.state !== 'failed') throw notPossible(run, 'only a failed run can be tried again');
      const policy = policyFor(this.#deps.fleet, run);
      if (!policy.ok) throw new ColdironError('conflict', policy.reason);
      return reopened(run, origin, policy.value, this.#deps.now());
    });
  }

  async one(id: string): Promise<Onboarding> {
    const run = await this.#deps.store.onboarding(id as OnboardingId);
    if (run === null) {
      throw new ColdironError(
        'not_found',
        `there is no onboarding ${shown(id)}`,
        [],
        'List them: coldiron onboardings list',
      );
    }
    return run;
  }

  list(query: Parameters<Store['onboardings']>[0]): Promise<readonly Onboarding[]> {
    return this.#deps.store.onboardings(query);
  }

  /** Decided again when the runner changed the run meanwhile. Null: there is nothing to write. */
  async #change(
    id: string,
    action: string,
    origin: Origin,
    decide: (run: Onboarding) => RunChange | null,
  ): Promise<Onboarding> {
    const { store, now, runner } = this.#deps;
    for (let tries = 1; ; tries += 1) {
      const run = await this.one(id);
      const change = decide(run);
      if (change === null) return run;
      try {
        const entry = audited(run, action, origin, now(), { note: origin.note ?? null });
        await store.updateOnboarding(change.run, change.events, [entry]);
        runner.wake(run.id);
        return change.run;
      } catch (error) {
        const raced = error instanceof ColdironError && error.code === 'version_conflict';
        if (!raced || tries === MAX_TRIES) throw error;
      }
    }
  }
}

/** From the site and the profile only. */
export function policyFor(
  fleet: Pick<Fleet, 'site' | 'profile'>,
  { request }: Pick<Onboarding, 'request'>,
): Parsed<OnboardingPolicy> {
  const site = fleet.site(request.site);
  const profile = fleet.profile(request.profile);
  if (site === null) return unparsable(`site ${request.site} does not exist any more`);
  if (profile === null) return unparsable(`profile ${request.profile} does not exist any more`);
  return parsed(policyOf(site, profile));
}

/** The appliance logs in at the address with the login of the site: only where the site says so, or where an admin says so. */
function requireBmcRights(
  fleet: OnboardingsDeps['fleet'],
  { site, hostname, bmcAddress }: OnboardingRequest,
  role: Role | null,
): void {
  if (role !== null && mayActAs(role, 'admin')) return;
  const networks = fleet.site(site)?.onboarding.bmcNetworks ?? [];
  const isKnown = fleet.machineByBmc(bmcAddress)?.spec.hostname === hostname;
  if (isKnown || networks.some((prefix) => contains(prefix, bmcAddress))) return;
  throw new ColdironError(
    'forbidden',
    `ipmi_ip: a BMC outside the BMC networks of site ${site} needs the role admin; yours is ${role}`,
    [],
    'An admin requests it, or adds its network to onboarding.bmc_networks of the site.',
  );
}

function readRequest(fields: RequestedFields): OnboardingRequest {
  const problems: string[] = [];
  const read = <T>(field: keyof RequestedFields, parse: (text: string) => Parsed<T>): T => {
    const result = parse(fields[field]);
    if (!result.ok) problems.push(`${field}: ${result.reason}`);
    return (result.ok ? result.value : undefined) as T;
  };
  const request = {
    site: read('site_id', parseObjectName),
    profile: read('profile_id', parseObjectName),
    sku: read('sku_id', parseObjectName),
    hostname: read('hostname', parseHostname),
    bmcAddress: read('ipmi_ip', parseIpv4),
  };
  if (problems.length > 0) {
    throw new ColdironError('invalid_request', problems.join('; '), problems.length > 1 ? problems : []);
  }
  return request;
}

const notPossible = ({ request, state }: Onboarding, why: string): ColdironError =>
  new ColdironError('conflict', `the onboarding of ${request.hostname} is ${state}: ${why}`);

const audited = (
  { id, request, correlationId }: Onboarding,
  action: string,
  { actor }: Origin,
  at: Instant,
  after: Json,
): NewAuditEntry => ({
  ...{ at, actor, action, correlationId, before: null },
  target: `node:${request.hostname}`,
  after: { onboarding: id, ...(after as object) },
});
