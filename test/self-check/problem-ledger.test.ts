import { describe, expect, it } from 'vitest';
import type { ApplianceProblem } from '../../appliance/domain/appliance-problem.ts';
import type { Listener } from '../../appliance/domain/listener.ts';
import { listenerProblems } from '../../appliance/self-check/listener-problems.ts';
import { ProblemLedger } from '../../appliance/self-check/problem-ledger.ts';

function opened() {
  const seen: string[] = [];
  const at = { now: 1000 };
  const listeners: { list: Listener[] } = { list: [] };
  const named = (what: string) => (problem: ApplianceProblem) => void seen.push(`${what} ${problem.subject}`);
  const ledger = new ProblemLedger({ now: () => at.now, onBegin: named('begins:'), onEnd: named('ends:') });
  ledger.add(() => listenerProblems(listeners.list));
  return { seen, at, listeners, ledger };
}

const silent: Listener = { service: 'dhcp', where: 'eth1', networks: ['provisioning'], problem: 'eth1 does not exist' };

describe('the ledger of problems', () => {
  it('keeps when a problem began, and reports its beginning and its end once', () => {
    const { seen, at, listeners, ledger } = opened();
    expect(ledger.applianceProblems()).toEqual([]);
    listeners.list = [silent, { ...silent, where: 'eth2', problem: null }];
    expect(ledger.applianceProblems()).toEqual([
      {
        id: 'listener-missing',
        subject: 'dhcp on eth1',
        since: 1000,
        words: 'DHCP does not answer on eth1 (provisioning): eth1 does not exist',
        nextStep: 'ip -brief address',
        service: 'dhcp',
        networks: ['provisioning'],
        reason: 'eth1 does not exist',
      },
    ]);
    at.now = 2000;
    expect(ledger.applianceProblems()).toMatchObject([{ since: 1000 }]);
    listeners.list = [];
    expect(ledger.applianceProblems()).toEqual([]);
    expect(seen).toEqual(['begins: dhcp on eth1', 'ends: dhcp on eth1']);
    at.now = 3000;
    listeners.list = [silent];
    expect(ledger.applianceProblems()).toMatchObject([{ since: 3000 }]);
  });
});
