import { describe, expect, it } from 'vitest';
import { BmcOpener } from '../../../appliance/bmc/access/bmc-opener.ts';
import { bmcProblems } from '../../../appliance/bmc/access/bmc-problems.ts';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { openerRig } from './opener-rig.ts';

/** An opener whose BMC fails in the given protocols. */
const failing = async (failures: Readonly<Record<string, BmcError>>, driver: 'ipmi' | 'ipmi+redfish' = 'ipmi') => {
  const { machine, hardware, bmcLogin, keep, store, vault, readPassword, clock } = await openerRig({ driver });
  await keep('current', 'factory');
  const opener = new BmcOpener({
    ...{ store, vault, readPassword, now: () => clock.now(), bmcMode: () => 'real' as const },
    openDriver: (_machine, at, login) => {
      const bmc = bmcLogin.bmc(hardware, login);
      const failure = failures[at.driver];
      return failure ? { ...bmc, powerState: () => Promise.reject(failure) } : bmc;
    },
  });
  return bmcProblems(opener, machine);
};

const unreachable = new BmcError('unreachable', 'no reply');

describe('the BMC check before a machine depends on it', () => {
  it('finds no problem when the BMC replies, or is only busy', async () => {
    expect(await failing({})).toEqual([]);
    expect(await failing({ ipmi: new BmcError('busy', 'all sessions are taken') })).toEqual([]);
  });

  it('names the BMC, what is wrong, and what to do', async () => {
    expect(await failing({ ipmi: unreachable })).toEqual([
      'its BMC at 10.2.10.1 cannot be used (ipmi): no reply',
      'the machine could not be powered on: repair its BMC, check it with coldiron power node1 status, then retry',
    ]);
  });

  it('accepts one working protocol', async () => {
    expect(await failing({ ipmi: unreachable }, 'ipmi+redfish')).toEqual([]);
    expect(await failing({ ipmi: unreachable, redfish: unreachable }, 'ipmi+redfish')).toHaveLength(3);
  });

  it('reports missing credentials', async () => {
    const { opener, machine } = await openerRig();
    expect((await bmcProblems(opener, machine))[0]).toMatch(/^its BMC at 10\.2\.10\.1 cannot be used/);
  });

  it.each(['recorder', 'disabled', null] as const)('contacts no BMC in mode %s', async (mode) => {
    const { opener, machine, bmcLogin } = await openerRig({ mode });
    expect(await bmcProblems(opener, machine)).toEqual([]);
    expect(bmcLogin.drivers).toEqual([]);
  });
});
