// Onboarding runs: their provider, the runner that drives them, and what people do with them.

import { situationOf } from '../api/diagnosis/situation.ts';
import type { BmcService } from '../bmc/access/bmc-service.ts';
import type { EnrollmentService } from '../identity/enrollment-service.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { OnboardingRunner } from '../onboarding/onboarding-runner.ts';
import { Onboardings, policyFor } from '../onboarding/onboardings.ts';
import { NativeProvider } from '../providers/native/native-provider.ts';
import type { NodeWork } from '../provisioning/node-work.ts';
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
  const runner = new OnboardingRunner({
    ...{ store, clock, log: logger },
    providers: new Map([[native.name, native]]),
    policy: (run) => policyFor(fleet, run),
  });
  const onboardings = new Onboardings({
    ...{ store, fleet, runner, newId },
    now: clock.now,
    providerOf: () => native.name,
  });
  discovery.expect(() => runner.discovering);
  stops.add(() => runner.stop());
  return { onboardings, start: () => runner.start() };
}
