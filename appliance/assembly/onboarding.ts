// Onboarding runs: their provider, the runner that drives them, and what people do with them.

import { randomUUID } from 'node:crypto';
import { situationOf } from '../api/diagnosis/situation.ts';
import type { BmcService } from '../bmc/access/bmc-service.ts';
import { ColdironError } from '../domain/errors.ts';
import type { OnboardingRequest } from '../domain/onboarding.ts';
import type { EnrollmentService } from '../identity/enrollment-service.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { OnboardingRunner } from '../onboarding/onboarding-runner.ts';
import { Onboardings, policyFor } from '../onboarding/onboardings.ts';
import type { OnboardingProvider } from '../onboarding/provider.ts';
import { MaasApi } from '../providers/maas/maas-api.ts';
import { MaasClient } from '../providers/maas/maas-client.ts';
import { MaasHosts } from '../providers/maas/maas-hosts.ts';
import { MaasProvider } from '../providers/maas/maas-provider.ts';
import { NativeProvider } from '../providers/native/native-provider.ts';
import { blockingProblems } from '../provisioning/appliance-guards.ts';
import type { NodeWork } from '../provisioning/node-work.ts';
import { readTemplates } from '../servers/http-boot/read-templates.ts';
import type { NodeService } from '../servers/node-api/node-service.ts';
import { diagnose } from '../trail/diagnose.ts';
import type { RunTimes } from '../trail/run-times.ts';
import type { BootLookup } from './boot-lookup.ts';
import type { BootServers } from './boot-servers.ts';
import type { Foundation } from './foundation.ts';
import type { SelfCheck } from './self-check.ts';

interface OnboardingParts extends Pick<SelfCheck, 'applianceProblems'>, Pick<NodeService, 'contactAt'> {
  readonly work: NodeWork;
  readonly commands: MachineCommands;
  readonly bmcs: BmcService;
  readonly enrollment: EnrollmentService;
  readonly runTimes: RunTimes;
  readonly servers: Pick<BootServers, 'bootContract'>;
  readonly bootPort: number;
  readonly discovery: BootLookup['discovery'];
}

export interface OnboardingService {
  readonly onboardings: Onboardings;
  /** Null: no MAAS is configured. */
  readonly maas: MaasHosts | null;
  /** After the servers are open: runs may be waiting. */
  readonly start: () => Promise<void>;
}

export function openOnboarding(foundation: Foundation, parts: OnboardingParts): OnboardingService {
  const { store, fleet, clock, newId, logger, stops } = foundation;
  const { work, commands, bmcs, enrollment, runTimes, servers, bootPort, applianceProblems, contactAt, discovery } =
    parts;
  const situation = { store, fleet, bmc: bmcs, clock, applianceProblems, runTimes, bootPort, enrollment, contactAt };
  const native = new NativeProvider({
    ...{ store, fleet, work, commands, newId, applianceProblems },
    now: clock.now,
    bmc: bmcs.nodes,
    bootContract: servers.bootContract,
    causes: async (machine) => diagnose(await situationOf(situation, machine, { askBmc: true })).causes,
    lastHeartbeat: (machine) => enrollment.heartbeats.lastOf(machine)?.at ?? null,
  });
  const maas = openMaas(foundation, parts);
  const providers = new Map<string, OnboardingProvider>([[native.name, native]]);
  if (maas !== null) providers.set(maas.provider.name, maas.provider);
  const runner = new OnboardingRunner({
    ...{ store, clock, log: logger, providers },
    policy: (run) => policyFor(fleet, run),
  });
  const onboardings = new Onboardings({
    ...{ store, fleet, runner, newId },
    now: clock.now,
    providerOf: (request) => providerOf(foundation, request),
  });
  discovery.expect(() => runner.discovering);
  stops.add(() => runner.stop());
  return { onboardings, maas: maas?.hosts ?? null, start: () => runner.start() };
}

/** Policy of the site and the profile. */
function providerOf({ fleet, config }: Foundation, request: OnboardingRequest): string {
  const policy = policyFor(fleet, { request });
  const provider = policy.ok ? policy.value.provider : 'native';
  if (provider === 'native' || config.maas !== null) return provider;
  throw new ColdironError(
    'service_unavailable',
    `machines of site ${request.site} are provisioned by MAAS, and no MAAS is configured (maas: in the site file)`,
  );
}

function openMaas(
  { config, store, fleet, clock, newId, stops }: Foundation,
  { work, commands, bmcs, enrollment, applianceProblems }: OnboardingParts,
): { readonly provider: MaasProvider; readonly hosts: MaasHosts } | null {
  const settings = config.maas;
  if (settings === null) return null;
  const client = new MaasClient({ settings, now: clock.now, nonce: randomUUID });
  stops.add(() => client.close());
  const api = new MaasApi(client);
  const provider = new MaasProvider({
    ...{ api, store, fleet, work, commands, newId },
    now: clock.now,
    timeout: settings.timeout,
    templates: readTemplates(),
    siteBootstrap: ({ spec }) => (spec.site === null ? null : (fleet.site(spec.site)?.bootstrap ?? null)),
    startFirstBoot: enrollment.startFirstBoot,
    bundleProblems: enrollment.bundleProblems,
    bmcLogin: bmcs.login,
    blockingProblems: () => blockingProblems({ applianceProblems }),
    lastHeartbeat: (machine) => enrollment.heartbeats.lastOf(machine)?.at ?? null,
  });
  return { provider, hosts: new MaasHosts(api) };
}
