// Which network cards a machine has, as its BMC knows them.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { redfishBmc } from '../../appliance/bmc/redfish/redfish-bmc.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { bootCard } from '../../appliance/providers/native/bmc-cards.ts';
import { networkWith } from '../boot/boot-fixtures.ts';
import { targetOf as ipmiTarget, RACING, startSimulator } from './ipmi/client-rig.ts';
import { fruWithSerial } from './ipmi/simulator/machine.ts';
import { ADMIN } from './redfish/mock/machine.ts';
import { VENDORS } from './redfish/mock/vendors.ts';
import { fastDeps, startMock, targetOf } from './redfish/rig.ts';

describe('over Redfish', () => {
  it.each(['supermicro', 'openbmc'] as const)('are the interfaces of the system (%s)', async (vendor) => {
    const mock = await startMock(VENDORS[vendor]);
    const bmc = redfishBmc({ ...targetOf(mock), password: new Secret(ADMIN.password) }, {}, fastDeps());
    onTestFinished(() => bmc.close());
    expect(await bmc.networkCards()).toEqual([{ mac: '52:54:00:12:34:56', link: 'unknown' }]);
  });
});

describe('over IPMI', () => {
  it.each([
    ['none: the specification has no command for them', [], []],
    [
      'those in free fields of the FRU',
      ['MAC1=02:00:00:00:00:01', 'mac 020000000002'],
      ['02:00:00:00:00:01', '02:00:00:00:00:02'],
    ],
    [
      "not the BMC's own",
      ['02:00:00:00:00:09', 'BMC MAC 02:00:00:00:00:03', '02-00-00-00-00-01'],
      ['02:00:00:00:00:01'],
    ],
    ['not a serial number', ['012345678901', 'SN 02:00:00:00:00:01:77'], []],
  ] as const)('are %s', async (_what, fields, macs) => {
    const simulator = await startSimulator();
    const bmc = ipmiBmc(ipmiTarget(simulator.port), { efi: false, keepFor: 0 }, RACING);
    onTestFinished(() => bmc.close());
    simulator.machine.fru = fruWithSerial('SN1', ...fields);
    // Get LAN Configuration Parameters: revision, then the address.
    simulator.faults.replies = new Map([[0x0c02, () => ({ code: 0, data: [0x11, 2, 0, 0, 0, 0, 9] })]]);
    expect(await bmc.networkCards()).toEqual(macs.map((mac) => ({ mac, link: 'unknown' })));
  });
});

describe('the card that a machine boots from', () => {
  const network = networkWith();
  const networks = (...all: (typeof network)[]) => ({ networks: () => all.values() }) as never;
  const card = (n: number, link: 'up' | 'down' | 'unknown' = 'unknown') => ({
    mac: `02:00:00:00:00:0${n}` as never,
    link,
  });

  it.each([
    ['the only one', [card(1)], 1],
    ['the only one with a link', [card(1, 'down'), card(2, 'up'), card(3)], 2],
    ['not known among two', [card(1), card(2)], null],
    ['not known among two with a link', [card(1, 'up'), card(2, 'up')], null],
    ['not known without cards', [], null],
  ] as const)('is %s', (_what, cards, found) => {
    const expected = found === null ? null : { mac: `02:00:00:00:00:0${found}`, network: network.name };
    expect(bootCard(networks(network), network.site as never, cards)).toEqual(expected);
    expect(bootCard(networks(network, network), network.site as never, cards)).toBeNull();
  });
});
