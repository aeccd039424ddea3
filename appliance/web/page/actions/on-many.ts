// One request for each of many nodes, a few at once, each with an Idempotency-Key of its own.

import { asFailure, type Failure, newKey } from '../api.ts';

export interface Outcome {
  readonly node: string;
  readonly state: 'waiting' | 'running' | 'done' | 'refused';
  readonly failure: Failure | null;
}

const AT_ONCE = 4;

export async function onMany(
  nodes: readonly string[],
  work: (node: string, key: string) => Promise<unknown>,
  onChange: (outcomes: ReadonlyMap<string, Outcome>) => void,
): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>(nodes.map((node) => [node, { node, state: 'waiting', failure: null }]));
  const set = (outcome: Outcome): void => {
    outcomes.set(outcome.node, outcome);
    onChange(new Map(outcomes));
  };
  const queue = nodes.values();
  const worker = async (): Promise<void> => {
    for (const node of queue) {
      set({ node, state: 'running', failure: null });
      try {
        await work(node, newKey());
        set({ node, state: 'done', failure: null });
      } catch (error) {
        set({ node, state: 'refused', failure: asFailure(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, nodes.length) }, worker));
  return outcomes;
}
