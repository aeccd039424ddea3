import { describe, expect, it } from 'vitest';
import { BmcOpener } from '../../../appliance/bmc/access/bmc-opener.ts';
import { bmcProblems } from '../../../appliance/bmc/access/bmc-problems.ts';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { deskRig } from './desk-rig.ts';

/** A desk whose BMC fails in each protocol as it is told, or does not. */
const failing = async (failures: Readonly<Record<string, BmcError>>, driver: 'ipmi' | 'ipmi+redfish' = 'ipmi') => {
  const { machine, hardware, door, keep, store, vault, clock } = await deskRig({ driver });
  await keep('current', 'factory');
  const desk = new BmcOpener({
    ...{ store, vault, now: () => clock.now(), bmcMode: () => 'real' as const },
    openDriver: (_machine, at, login) => {
      const bmc = door.bmc(hardware, login);
      const failure = failures[at.driver];
      return failure ? { ...bmc, powerState: () => Promise.reject(failure) } : bmc;
    },
  });
  return bmcProblems(desk, machine);
};

const unreachable = new BmcError('unreachable', 'nothing answers');

describe('what is asked of a BMC before a machine depends on it', () => {
  it('is nothing where it answers, or is only busy', async () => {
    expect(await failing({})).toEqual([]);
    expect(await failing({ ipmi: new BmcError('busy', 'all sessions are taken') })).toEqual([]);
  });

  it('names the BMC, what is wrong, and what to do', async () => {
    expect(await failing({ ipmi: unreachable })).toEqual([
      'its BMC at 10.2.10.1 cannot be asked (ipmi): nothing answers',
      'nothing would switch it on: when its BMC answers (coldiron power node1 status), ask again',
    ]);
  });

  it('is satisfied with one protocol that answers', async () => {
    expect(await failing({ ipmi: unreachable }, 'ipmi+redfish')).toEqual([]);
    expect(await failing({ ipmi: unreachable, redfish: unreachable }, 'ipmi+redfish')).toHaveLength(3);
  });

  it('says so when there is no login for it', async () => {
    const { desk, machine } = await deskRig();
    expect((await bmcProblems(desk, machine))[0]).toMatch(/^its BMC at 10\.2\.10\.1 cannot be asked/);
  });

  it.each(['recorder', 'disabled', null] as const)('touches nobody in mode %s', async (mode) => {
    const { desk, machine, door } = await deskRig({ mode });
    expect(await bmcProblems(desk, machine)).toEqual([]);
    expect(door.drivers).toEqual([]);
  });
});
