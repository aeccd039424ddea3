// The properties that are sent for a boot choice, per firmware.

import { describe, expect, it } from 'vitest';
import { bodiesFor, deviceOf, overrideFor } from '../../../appliance/bmc/redfish/boot-override.ts';
import { QUIRK_ROWS, quirksOf, type ServiceFacts } from '../../../appliance/bmc/redfish/quirks.ts';
import { refusal } from './mock/mock-answers.ts';
import { VENDORS } from './mock/vendors.ts';
import { rig } from './rig.ts';

const facts = (differs: Partial<ServiceFacts>): ServiceFacts => ({
  vendor: 'unknown',
  product: '',
  systemModel: '',
  systemPath: '/redfish/v1/Systems/1',
  ...differs,
});

const STANDARD = quirksOf(facts({}));
const ONCE = { device: 'network', persistent: false, firmware: 'efi' } as const;
const SHOWS_MODE = { BootSourceOverrideMode: 'Legacy' };

const firstBody = (choice: Parameters<typeof overrideFor>[0], vendor: string): unknown => {
  const quirks = quirksOf(facts({ vendor }));
  return bodiesFor(overrideFor(choice, SHOWS_MODE, quirks), SHOWS_MODE, quirks)[0];
};

describe('the quirk table', () => {
  it.each([
    ['supermicro', facts({ vendor: 'Supermicro' })],
    ['ilo', facts({ vendor: 'HPE' })],
    ['ilo', facts({ vendor: 'Hewlett Packard Enterprise' })],
    ['megarac', facts({ product: 'AMI Redfish Server' })],
    ['megarac', facts({ vendor: 'ASRockRack' })],
    ['xcc', facts({ vendor: 'Lenovo' })],
    ['openbmc', facts({ systemPath: '/redfish/v1/Systems/system' })],
    ['dgx', facts({ vendor: 'NVIDIA', product: 'DGX H100' })],
  ])('matches the row %s', (name, of) => {
    expect(QUIRK_ROWS.filter((row) => row.matches(of)).map((row) => row.name)).toEqual([name]);
  });

  it('matches no row for a service that follows the standard', () => {
    expect(QUIRK_ROWS.filter((row) => row.matches(facts({ vendor: 'Dell Inc.' })))).toEqual([]);
  });
});

describe('the request', () => {
  it('contains the boot mode only when it was requested', () => {
    expect(firstBody(ONCE, 'Dell Inc.')).toEqual({
      Boot: {
        BootSourceOverrideTarget: 'Pxe',
        BootSourceOverrideEnabled: 'Once',
        BootSourceOverrideMode: 'UEFI',
      },
    });
    expect(firstBody({ ...ONCE, firmware: null }, 'Dell Inc.')).toEqual({
      Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' },
    });
  });

  it('always contains the mode for Supermicro, and never for iLO', () => {
    expect(firstBody({ ...ONCE, firmware: null }, 'Supermicro')).toMatchObject({
      Boot: { BootSourceOverrideMode: 'Legacy' },
    });
    expect(firstBody(ONCE, 'HPE')).toEqual({
      Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' },
    });
  });

  it('uses the vendor name of the CD drive, or the available one', () => {
    const cd = { device: 'cdrom', persistent: false, firmware: null } as const;
    const allowed = (...names: string[]) => ({ 'BootSourceOverrideTarget@Redfish.AllowableValues': names });
    const supermicro = quirksOf(facts({ vendor: 'Supermicro' }));
    expect(overrideFor(cd, allowed('Cd', 'UsbCd'), supermicro).target).toBe('UsbCd');
    expect(overrideFor(cd, allowed('Cd'), supermicro).target).toBe('Cd');
    expect(overrideFor(cd, allowed('Cd', 'UsbCd'), STANDARD).target).toBe('Cd');
  });

  it('is retried in simpler forms, none twice', () => {
    const bodies = bodiesFor(overrideFor({ ...ONCE, persistent: true }, SHOWS_MODE, STANDARD), SHOWS_MODE, STANDARD);
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(bodies.length);
    expect(bodies.at(-1)).toEqual({ Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } });
  });

  it('is found by retries when no row of the table matches', async () => {
    const { bmc, service } = await rig({ ...VENDORS.idrac, mode: 'read-only' });
    const { differences } = await bmc.setBoot(ONCE);
    expect(service.machine.boot).toMatchObject({ target: 'Pxe', enabled: 'Once' });
    expect(differences).toEqual(['the boot mode reads back as Legacy, requested was UEFI']);
  });

  it('falls back to a one-time override when a persistent one is refused, and reports it', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    service.intercept = ({ method, body }) =>
      method === 'PATCH' && body.includes('Continuous') ? refusal(400, 'Base.1.8.PropertyValueNotInList') : null;
    const { differences } = await bmc.setBoot({ ...ONCE, persistent: true });
    expect(service.machine.boot).toMatchObject({ target: 'Pxe', enabled: 'Once', mode: 'UEFI' });
    expect(differences).toEqual(['the override is for the next boot only: this BMC does not support a persistent one']);
  });

  it('uses the settings resource also when only the refusal names it', async () => {
    const { bmc, service } = await rig(VENDORS.megarac);
    const path = service.paths.settings;
    let missing = 2;
    // With and without the trailing slash.
    service.intercept = ({ method, path: requested }) =>
      method === 'GET' && requested.replace(/\/$/, '') === path && missing-- > 0
        ? refusal(404, 'Base.1.8.ResourceMissingAtURI')
        : null;
    await bmc.setBoot(ONCE);
    expect(service.machine.boot.target).toBe('Pxe');
    expect(service.written.map(({ what }) => what).at(-1)).toBe(`PATCH ${path}`);
  });
});

describe('the read-back', () => {
  it.each([
    [{ BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' }, 'network'],
    [{ BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Disabled' }, 'none'],
    [{ BootSourceOverrideTarget: 'None', BootSourceOverrideEnabled: 'Once' }, 'none'],
    [{ BootSourceOverrideTarget: 'UsbCd' }, 'cdrom'],
    [{ BootSourceOverrideTarget: 'UefiHttp' }, 'http'],
    [{ BootSourceOverrideTarget: 'Floppy' }, null],
    [{ BootSourceOverrideTarget: 'constructor' }, null],
    [{}, null],
  ])('of %o is %s', (boot, device) => {
    expect(deviceOf(boot, STANDARD)).toBe(device);
  });
});
