// Every resource of a mock service, by path, in its current state.

import type { BmcFaults, MockBoot, MockMachine } from './machine.ts';
import type { VendorProfile } from './vendors.ts';

export type Json = Readonly<Record<string, unknown>>;

export const ROOT = '/redfish/v1';

export interface MockPaths {
  readonly system: string;
  readonly settings: string | null;
  readonly manager: string;
  readonly chassis: string;
  readonly drive: string;
  readonly log: string;
  readonly sessions: string;
  readonly accounts: string;
}

export function pathsOf(vendor: VendorProfile): MockPaths {
  const system = `${ROOT}/Systems/${vendor.systemId}`;
  const manager = `${ROOT}/Managers/${vendor.managerId}`;
  const owner = (which: 'system' | 'manager'): string => (which === 'system' ? system : manager);
  return {
    system,
    settings: vendor.settingsId === null ? null : `${system}/${vendor.settingsId}`,
    manager,
    chassis: `${ROOT}/Chassis/${vendor.chassisId}`,
    drive: `${owner(vendor.media.owner)}/VirtualMedia/${vendor.media.id}`,
    log: `${owner(vendor.log.owner)}/LogServices/${vendor.log.id}`,
    sessions: `${ROOT}/SessionService/Sessions`,
    accounts: `${ROOT}/AccountService/Accounts`,
  };
}

const link = (path: string): Json => ({ '@odata.id': path });
const collection = (members: readonly Json[]): Json => ({ Members: members, 'Members@odata.count': members.length });

export function resources(
  vendor: VendorProfile,
  machine: MockMachine,
  shown: MockBoot,
  faults: BmcFaults,
): Map<string, Json> {
  const paths = pathsOf(vendor);
  const all = new Map<string, Json>();
  all.set(ROOT, root(vendor));
  all.set(`${ROOT}/Systems`, collection([link(paths.system)]));
  all.set(`${ROOT}/Managers`, collection([link(paths.manager)]));
  all.set(`${ROOT}/Chassis`, collection([link(paths.chassis)]));
  all.set(paths.system, system(vendor, machine, shown));
  all.set(paths.manager, manager(vendor));
  all.set(paths.chassis, chassis(vendor, machine));
  if (paths.settings !== null) all.set(paths.settings, { Id: vendor.settingsId, Boot: boot(vendor, shown) });
  all.set(`${paths.system}/ResetActionInfo`, {
    Parameters: [{ Name: 'ResetType', Required: true, AllowableValues: vendor.resetTypes }],
  });
  all.set(`${paths.system}/EthernetInterfaces`, collection([link(`${paths.system}/EthernetInterfaces/NIC1`)]));
  all.set(`${paths.system}/EthernetInterfaces/NIC1`, { Id: 'NIC1', MACAddress: '52:54:00:12:34:56' });
  all.set(`${ROOT}/SessionService`, { ServiceEnabled: true, SessionTimeout: 1800, Sessions: link(paths.sessions) });
  addAccounts(all, vendor, machine);
  addLogs(all, vendor, machine);
  addSensors(all, vendor);
  addDrives(all, vendor, machine, faults);
  return all;
}

function root(vendor: VendorProfile): Json {
  const direct = vendor.sessionLink === 'Links';
  return {
    RedfishVersion: '1.11.0',
    ...vendor.root,
    Systems: link(`${ROOT}/Systems`),
    Managers: link(`${ROOT}/Managers`),
    Chassis: link(`${ROOT}/Chassis`),
    AccountService: link(`${ROOT}/AccountService`),
    SessionService: link(`${ROOT}/SessionService`),
    ...(direct ? { Links: { Sessions: link(`${ROOT}/SessionService/Sessions`) } } : {}),
    ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: vendor.sensors === 'expanded' } },
  };
}

function boot(vendor: VendorProfile, shown: MockBoot): Json {
  return {
    BootSourceOverrideTarget: shown.target,
    BootSourceOverrideEnabled: shown.enabled,
    BootSourceOverrideMode: shown.mode,
    'BootSourceOverrideTarget@Redfish.AllowableValues': vendor.bootTargets,
    ...(vendor.persistent ? {} : { 'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Once', 'Disabled'] }),
    ...(vendor.bootTargets.includes('UefiHttp') ? { HttpBootUri: shown.httpBootUri } : {}),
  };
}

function system(vendor: VendorProfile, machine: MockMachine, shown: MockBoot): Json {
  const paths = pathsOf(vendor);
  return {
    '@odata.id': paths.system,
    Id: vendor.systemId,
    Name: 'System',
    Manufacturer: vendor.manufacturer,
    Model: vendor.model,
    SerialNumber: 'S411756X2B',
    UUID: machine.uuid,
    PowerState: machine.power,
    Boot: boot(vendor, shown),
    EthernetInterfaces: link(`${paths.system}/EthernetInterfaces`),
    LogServices: link(`${paths.system}/LogServices`),
    Links: { ManagedBy: [link(paths.manager)], Chassis: [link(paths.chassis)] },
    ...(paths.settings === null ? {} : { '@Redfish.Settings': { SettingsObject: link(paths.settings) } }),
    ...(vendor.media.owner === 'system' ? { VirtualMedia: link(`${paths.system}/VirtualMedia`) } : {}),
    ...(vendor.light === 'led' ? { IndicatorLED: machine.light ? 'Blinking' : 'Off' } : {}),
    ...(vendor.light === 'active' ? { LocationIndicatorActive: machine.light } : {}),
    Actions: {
      '#ComputerSystem.Reset': {
        target: `${paths.system}/Actions/ComputerSystem.Reset`,
        ...(vendor.actionInfo
          ? { '@Redfish.ActionInfo': `${paths.system}/ResetActionInfo` }
          : { 'ResetType@Redfish.AllowableValues': vendor.resetTypes }),
      },
    },
  };
}

function manager(vendor: VendorProfile): Json {
  const { manager: path } = pathsOf(vendor);
  return {
    '@odata.id': path,
    Id: vendor.managerId,
    FirmwareVersion: vendor.firmware,
    LogServices: link(`${path}/LogServices`),
    ...(vendor.media.owner === 'manager' ? { VirtualMedia: link(`${path}/VirtualMedia`) } : {}),
  };
}

function chassis(vendor: VendorProfile, machine: MockMachine): Json {
  const { chassis: path } = pathsOf(vendor);
  return {
    '@odata.id': path,
    Id: vendor.chassisId,
    ...(vendor.light === 'chassis-led' ? { IndicatorLED: machine.light ? 'Lit' : 'Off' } : {}),
    ...(vendor.sensors === 'old'
      ? { Thermal: link(`${path}/Thermal`), Power: link(`${path}/Power`) }
      : { Sensors: link(`${path}/Sensors`) }),
  };
}

function addAccounts(all: Map<string, Json>, vendor: VendorProfile, machine: MockMachine): void {
  const { accounts } = pathsOf(vendor);
  all.set(`${ROOT}/AccountService`, {
    MinPasswordLength: vendor.minPasswordLength,
    MaxPasswordLength: 20,
    Accounts: link(accounts),
  });
  all.set(accounts, collection(machine.users.map((_, index) => link(`${accounts}/${index + 1}`))));
  for (const [index, user] of machine.users.entries()) {
    all.set(`${accounts}/${index + 1}`, { Id: String(index + 1), UserName: user.name, Password: null });
  }
}

const PAGE = 2;

function addLogs(all: Map<string, Json>, vendor: VendorProfile, machine: MockMachine): void {
  const { system: systemPath, manager: managerPath, log } = pathsOf(vendor);
  const services = `${vendor.log.owner === 'system' ? systemPath : managerPath}/LogServices`;
  const elsewhere = `${vendor.log.owner === 'system' ? managerPath : systemPath}/LogServices`;
  const names = [...vendor.otherLogs, vendor.log.id];
  all.set(elsewhere, collection([]));
  all.set(services, collection(names.map((name) => link(`${services}/${name}`))));
  for (const name of vendor.otherLogs) {
    all.set(`${services}/${name}`, { Id: name, Entries: link(`${services}/${name}/Entries`) });
    all.set(`${services}/${name}/Entries`, collection([{ Id: '1', Message: 'of no interest' }]));
  }
  all.set(log, {
    Id: vendor.log.id,
    Entries: link(`${log}/Entries`),
    Actions: { '#LogService.ClearLog': { target: `${log}/Actions/LogService.ClearLog` } },
  });
  const entries = machine.log.map((entry) => ({
    '@odata.id': `${log}/Entries/${entry.id}`,
    Id: entry.id,
    Created: entry.created,
    Severity: entry.severity,
    Message: entry.message,
  }));
  if (vendor.log.newestFirst) entries.reverse();
  for (let from = 0; from === 0 || from < entries.length; from += PAGE) {
    const more = from + PAGE < entries.length;
    all.set(from === 0 ? `${log}/Entries` : `${log}/Entries?$skip=${from}`, {
      ...collection(entries.slice(from, from + PAGE)),
      ...(more ? { 'Members@odata.nextLink': `${log}/Entries?$skip=${from + PAGE}` } : {}),
    });
  }
}

const SENSORS: readonly Json[] = [
  { Id: 'inlet', Name: 'Inlet Temp', ReadingType: 'Temperature', Reading: 23.5, ReadingUnits: 'Cel', Health: 'OK' },
  { Id: 'fan1', Name: 'Fan 1', ReadingType: 'Rotational', Reading: 8400, ReadingUnits: '{rev}/min', Health: 'Warning' },
  { Id: 'vcore', Name: 'Vcore', ReadingType: 'Voltage', Reading: 1.1, ReadingUnits: 'V', Health: 'OK' },
];

function addSensors(all: Map<string, Json>, vendor: VendorProfile): void {
  const { chassis: path } = pathsOf(vendor);
  const state = { State: 'Enabled', Health: 'OK' };
  all.set(`${path}/Thermal`, {
    Temperatures: [
      { Name: 'Inlet Temp', ReadingCelsius: 23.5, Status: state },
      { Name: 'GPU 2', ReadingCelsius: 0, Status: { State: 'Absent' } },
    ],
    Fans: [{ FanName: 'Fan 1', Reading: 8400, ReadingUnits: 'RPM', Status: { State: 'Enabled', Health: 'Warning' } }],
  });
  all.set(`${path}/Power`, { Voltages: [{ Name: 'Vcore', ReadingVolts: 1.1, Status: state }] });
  const sensors = SENSORS.map(({ Health, ...sensor }) => ({
    '@odata.id': `${path}/Sensors/${sensor.Id}`,
    ...sensor,
    Status: { State: 'Enabled', Health },
  }));
  all.set(`${path}/Sensors`, collection(sensors.map((sensor) => link(sensor['@odata.id']))));
  if (vendor.sensors === 'expanded') all.set(`${path}/Sensors?$expand=.`, collection(sensors));
  for (const sensor of sensors) all.set(sensor['@odata.id'], sensor);
}

function addDrives(all: Map<string, Json>, vendor: VendorProfile, machine: MockMachine, faults: BmcFaults): void {
  const { drive } = pathsOf(vendor);
  const drives = drive.slice(0, drive.lastIndexOf('/'));
  all.set(drives, collection([link(`${drives}/Floppy`), link(drive)]));
  all.set(`${drives}/Floppy`, { Id: 'Floppy', MediaTypes: ['Floppy'], Inserted: false, Image: null });
  const image = faults.mediaIgnored ? null : machine.image;
  all.set(drive, {
    Id: vendor.media.id,
    MediaTypes: ['CD', 'DVD'],
    Inserted: image !== null,
    Image: image,
    ...(vendor.media.fields === null
      ? {}
      : {
          Actions: {
            '#VirtualMedia.InsertMedia': { target: `${drive}/Actions/VirtualMedia.InsertMedia` },
            '#VirtualMedia.EjectMedia': { target: `${drive}/Actions/VirtualMedia.EjectMedia` },
          },
        }),
  });
}
