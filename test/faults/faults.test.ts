// A selection of catalogue faults, injected into real runs: each of another stage, on its own machine. `npm run bench -- faults` injects
// all of them. Needs root.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { faultById } from './catalogue.ts';
import { FaultRack } from './rack.ts';
import { runFault } from './run-fault.ts';

vi.setConfig({ testTimeout: 900_000, hookTimeout: 600_000 });

/** Their stages have short limits without any runs to learn from. */
const SELECTED = ['dhcp-answers-lost', 'udp-69-blocked', 'boot-port-blocked', 'started-by-hand'] as const;

describe('a fault that is injected into a real run', () => {
  let rack: FaultRack;

  beforeAll(async () => {
    rack = await FaultRack.start();
  });
  afterAll(() => rack?.stop());

  it.concurrent.each(SELECTED)('is explained at the first question, and repaired by its next step: %s', async (id) => {
    const fault = faultById(id);
    const before = SELECTED.slice(0, SELECTED.indexOf(id)).filter(
      (other) => faultById(other).machine === fault.machine,
    );
    const node = FaultRack.machines(fault.machine)[before.length] ?? '';
    const { answer, problem, right, harmful, recovered } = await runFault(rack.rig, fault, node, { recover: true });
    expect({ answer, problem, right, harmful, recovered }).toEqual({
      answer: expect.any(String),
      problem: null,
      right: true,
      harmful: false,
      recovered: true,
    });
  });
});
