import { describe, expect, it } from 'vitest';
import { DEFAULT_ONBOARDING, policyOf } from '../../appliance/domain/onboarding.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';

const check = (site: object, profile: object = {}) => {
  const value = {
    sites: [{ name: 'lab', ...site }],
    profiles: [{ name: 'worker', kind: 'nixos', deploy_minutes: 45, ...profile }],
  };
  const { problems, sources } = checkInventory([{ file: 'rack.yaml', name: 'rack', value }]);
  const [declared] = sources.map((source) => source.declared);
  return { problems, site: declared?.sites[0], profile: declared?.profiles[0] };
};
const policy = (site: object, profile?: object) => {
  const checked = check(site, profile);
  if (!checked.site || !checked.profile) expect.fail(checked.problems.join('\n'));
  return policyOf(checked.site, checked.profile);
};

describe('the onboarding policy', () => {
  it('has defaults, and the time limit of the profile', () => {
    expect(policy({})).toEqual({ ...DEFAULT_ONBOARDING, deployMinutes: 45 });
  });

  it('comes from the site, and the profile overrides single keys', () => {
    const site = { onboarding: { retry: ['network', 'image'], retries: 3, auto_claim: true, hardware_sync: true } };
    expect(policy(site, { onboarding: { retries: 0, adopt: 'never' } })).toEqual({
      ...DEFAULT_ONBOARDING,
      ...{ retry: ['network', 'image'], retries: 0, autoClaim: true, hardwareSync: true, adopt: 'never' },
      deployMinutes: 45,
    });
  });

  it('has the BMC login of new machines in the site only, and never in the policy', () => {
    const bmc = { driver: 'redfish', username: 'admin', password_file: '/etc/coldiron/bmc/lab' };
    const { site } = check({ onboarding: { bmc } });
    expect(site?.onboarding.bmc).toEqual({
      driver: 'redfish',
      username: 'admin',
      passwordFile: '/etc/coldiron/bmc/lab',
    });
    expect(policy({ onboarding: { bmc, bmc_networks: ['10.0.200.0/24'] } })).toEqual(policy({}));
    expect(check({ onboarding: { bmc_networks: ['10.0.200.0/99'] } }).problems.join()).toContain(
      'onboarding.bmc_networks[0]',
    );
    expect(check({}, { onboarding: { bmc } }).problems.join()).toContain('profiles[0].onboarding.bmc: unknown key');
  });

  it.each([
    [{ retry: ['everything'] }, 'sites[0].onboarding.retry[0]'],
    [{ retries: 99 }, 'sites[0].onboarding.retries'],
    [{ adopt: 'all' }, 'sites[0].onboarding.adopt'],
    [{ pxe_mac: 'x' }, 'sites[0].onboarding.pxe_mac: unknown key'],
    [{ discovery_minutes: 0 }, 'sites[0].onboarding.discovery_minutes'],
  ])('names what is wrong in %o', (onboarding, place) => {
    expect(check({ onboarding }).problems.join()).toContain(place);
  });
});

describe('release_without_erase', () => {
  it('is off unless the site says so', () => {
    expect(check({}).site?.releaseWithoutErase).toBe(false);
    expect(check({ release_without_erase: true }).site?.releaseWithoutErase).toBe(true);
  });
});
