// The current problems of the appliance. Keeps when each began, and reports each that begins or ends once.

import { type ApplianceProblem, type FoundProblem, problemKey } from '../domain/appliance-problem.ts';
import type { Instant } from '../domain/instant.ts';

/** Returns what it knows now; it must not wait. */
export type ProblemSource = () => readonly FoundProblem[];

export interface ProblemLedgerDeps {
  readonly now: () => Instant;
  readonly onBegin: (problem: ApplianceProblem) => void;
  readonly onEnd: (problem: ApplianceProblem) => void;
}

export class ProblemLedger {
  readonly #deps: ProblemLedgerDeps;
  readonly #sources: ProblemSource[] = [];
  #current: ReadonlyMap<string, ApplianceProblem> = new Map();

  constructor(deps: ProblemLedgerDeps) {
    this.#deps = deps;
  }

  add(source: ProblemSource): void {
    this.#sources.push(source);
  }

  /** Asks every source. */
  readonly applianceProblems = (): readonly ApplianceProblem[] => {
    const before = this.#current;
    const now = this.#deps.now();
    const found = new Map<string, ApplianceProblem>();
    for (const problem of this.#sources.flatMap((source) => source())) {
      const key = problemKey(problem);
      found.set(key, { ...problem, since: before.get(key)?.since ?? now });
    }
    this.#current = found;
    for (const [key, problem] of found) if (!before.has(key)) this.#deps.onBegin(problem);
    for (const [key, problem] of before) if (!found.has(key)) this.#deps.onEnd(problem);
    return [...found.values()];
  };
}
