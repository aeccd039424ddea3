// The appliance's look at itself: one ledger for everything that is wrong with it.

import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import { SECOND } from '../domain/instant.ts';
import { repeat } from '../net/repeat.ts';
import { listenerProblems } from '../self-check/listener-problems.ts';
import { ProblemLedger } from '../self-check/problem-ledger.ts';
import type { BootServers } from './boot-servers.ts';
import type { Foundation } from './foundation.ts';

const LOOK_EVERY = 5 * SECOND;

/** Returns the function that lists the current problems. */
export function openSelfCheck(
  { clock, logger, stops }: Foundation,
  servers: Pick<BootServers, 'listeners'>,
): () => readonly ApplianceProblem[] {
  const fieldsOf = ({ id, subject, nextStep }: ApplianceProblem) => ({ problem: id, subject, next_step: nextStep });
  const ledger = new ProblemLedger({
    now: clock.now,
    onBegin: (problem) => logger.warn(fieldsOf(problem), problem.words),
    onEnd: (problem) => logger.info(fieldsOf(problem), `no longer a problem: ${problem.words}`),
  });
  ledger.add(() => listenerProblems(servers.listeners()));
  stops.add(repeat(LOOK_EVERY, async () => ledger.applianceProblems(), logger));
  return ledger.applianceProblems;
}
