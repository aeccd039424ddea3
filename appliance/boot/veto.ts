// When what was decided cannot be handed out after all: what the machine gets in its place, and why.

import { because } from './because.ts';
import type { BootDecision } from './decide-boot.ts';

/** Nothing is advertised that is not served. Whatever was armed stays armed. */
export function withoutImage(decision: BootDecision, machine: string, image: string): BootDecision {
  const reason = because('image-missing', { machine, image });
  return { ...decision, outcome: { kind: 'refusal', whatToDo: reason.hint }, because: reason };
}

/** The system that would be started could not be told what to do. Whatever was armed stays armed. */
export function withoutOrder(decision: BootDecision, machine: string, why: string): BootDecision {
  const reason = because('order-impossible', { machine, why });
  return { ...decision, outcome: { kind: 'refusal', whatToDo: reason.hint }, because: reason };
}

/** The intent counted when the decision was made, and no longer when it was to be used up. */
export function withoutIntent(decision: BootDecision, machine: string): BootDecision {
  return { ...decision, outcome: { kind: 'local-disk' }, because: because('intent-lost', { machine }) };
}
