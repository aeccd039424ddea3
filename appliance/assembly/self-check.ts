// The appliance's look at itself: one ledger for everything that is wrong with it, as events, in the log and for the API.

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { Exports } from '../export/exports.ts';
import { repeat } from '../net/repeat.ts';
import { bootFileProblems } from '../self-check/boot-file-problems.ts';
import { certificateProblems, type OwnCertificate } from '../self-check/certificate-problems.ts';
import { ClockCheck } from '../self-check/clock-check.ts';
import { diskProblems, type FreeSpace, freeSpaceOf } from '../self-check/disk-space.ts';
import { listenerProblems } from '../self-check/listener-problems.ts';
import { shellWord } from '../self-check/next-steps.ts';
import { otherDhcpProblems } from '../self-check/other-dhcp-problems.ts';
import { ProblemLedger } from '../self-check/problem-ledger.ts';
import type { BootLookup } from './boot-lookup.ts';
import { type Foundation, STORE_FILE } from './foundation.ts';
import type { NodeService } from './identity.ts';

const LOOK_EVERY = 5 * SECOND;
const OWN_PROGRAM = new URL('../main.ts', import.meta.url);

interface SelfCheckDeps {
  readonly boot: Pick<BootLookup, 'library' | 'dhcp' | 'assetFolder'>;
  readonly nodes: Pick<NodeService, 'validity'>;
  readonly exports: Pick<Exports, 'problems'>;
}

export interface SelfCheck {
  readonly applianceProblems: () => readonly ApplianceProblem[];
  /** The servers are opened later than those who ask for problems. */
  readonly useListeners: (listeners: () => Parameters<typeof listenerProblems>[0]) => void;
}

export async function openSelfCheck(
  foundation: Foundation,
  { boot, nodes, exports }: SelfCheckDeps,
): Promise<SelfCheck> {
  const { config, store, fleet, trail, clock, logger, stops, storeWrites } = foundation;
  const { state } = config;
  const ledger = new ProblemLedger({
    now: clock.now,
    onBegin: (problem) => {
      const { id, subject, words, nextStep } = problem;
      logger.warn({ problem: id, subject, next_step: nextStep }, words);
      const data = { problem: id, subject, words, next_step: nextStep };
      trail.note({ kind: 'appliance.problem', mac: null, machine: null, siteWide: true, data });
    },
    onEnd: ({ id, subject, words }) => {
      logger.info({ problem: id, subject }, `no longer a problem: ${words}`);
      const data = { problem: id, subject, words };
      trail.note({ kind: 'appliance.recovered', mac: null, machine: null, siteWide: true, data });
    },
  });
  let listeners: () => Parameters<typeof listenerProblems>[0] = () => [];
  let space: readonly FreeSpace[] = [];
  const measure = async (): Promise<void> => {
    const found = await Promise.all([state, boot.assetFolder].map(freeSpaceOf));
    space = found.flatMap((each) => each ?? []);
  };
  await measure();
  const [last] = await store.events({ limit: 1, newest: true });
  const clockCheck = new ClockCheck({ lastEvent: last?.at ?? null, installed: installedAt() });

  ledger.add(() => listenerProblems(listeners()));
  ledger.add(() => otherDhcpProblems(boot.dhcp.otherServers(), state));
  ledger.add(() =>
    bootFileProblems({
      assets: boot.library.list(),
      unusable: boot.library.unusable(),
      profiles: fleet.profiles(),
      networks: fleet.networks(),
      cpus: new Set([...fleet.machines()].map(({ spec }) => spec.architecture)),
      profilesInUse: new Set([...fleet.machines()].flatMap(({ spec }) => spec.profile ?? [])),
      state,
    }),
  );
  ledger.add(() => diskProblems(space));
  ledger.add(exports.problems);
  ledger.add(() => storeWrites.problems(join(state, STORE_FILE)));
  ledger.add(() => clockCheck.look(clock.now(), performance.now()));
  const management = managementCertificate(config.tls?.certificateFile ?? null);
  ledger.add(() => {
    const node = nodes.validity();
    const own = { of: 'node API', nextStep: `coldiron ca show --state ${shellWord(state)}` };
    return certificateProblems([...management, ...(node === null ? [] : [{ ...own, ...node }])], clock.now());
  });
  const look = async (): Promise<void> => {
    await measure();
    ledger.applianceProblems();
  };
  return {
    applianceProblems: ledger.applianceProblems,
    useListeners: (opened) => {
      listeners = opened;
      // From here on everything that should be open has been opened once.
      stops.add(repeat(LOOK_EVERY, look, logger));
      ledger.applianceProblems();
    },
  };
}

function installedAt(): Instant | null {
  try {
    return statSync(OWN_PROGRAM).mtimeMs;
  } catch {
    return null;
  }
}

/** It is read once, as the server does. */
function managementCertificate(file: string | null): OwnCertificate[] {
  if (file === null) return [];
  const { validFromDate, validToDate } = new X509Certificate(readFileSync(file));
  const validity = { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
  return [{ of: 'management API', nextStep: `openssl x509 -noout -dates -in ${shellWord(file)}`, ...validity }];
}
