// Six kinds of Redfish service with the peculiarities of their firmware. The names are the vendors'; the behaviour is what the
// driver must handle.

export interface VendorProfile {
  readonly name: string;
  /** Properties of the service root beside the links. */
  readonly root: Readonly<Record<string, unknown>>;
  readonly manufacturer: string;
  readonly model: string;
  readonly firmware: string;
  readonly systemId: string;
  readonly managerId: string;
  readonly chassisId: string;
  readonly slots: number;
  readonly fullMessage: string;
  readonly resetTypes: readonly string[];
  /** The reset types are in a separate ActionInfo. */
  readonly actionInfo: boolean;
  /** Resets are tasks: `monitor` replies 202 until it is done, `deleting` deletes the task with its last reply. */
  readonly resetTask: 'none' | 'monitor' | 'deleting';
  readonly bootTargets: readonly string[];
  readonly persistent: boolean;
  /** `reverts`: back to Legacy without it. `read-only`: refused. `required`: all three or none. */
  readonly mode: 'free' | 'reverts' | 'read-only' | 'required';
  /** Pending settings are in a separate resource. */
  readonly settingsId: string | null;
  /**
   * `checked`: If-Match must match if it is sent. `required`: and must be sent. `strength`: shown weak, compared strong.
   * `never-fits`: every If-Match fails. `none`: no tags at all.
   */
  readonly etag: 'checked' | 'required' | 'strength' | 'never-fits' | 'none';
  readonly light: 'led' | 'active' | 'chassis-led';
  readonly sensors: 'collection' | 'expanded' | 'old';
  readonly log: { readonly owner: 'system' | 'manager'; readonly id: string; readonly newestFirst: boolean };
  /** Additional logs, which are not about the hardware. */
  readonly otherLogs: readonly string[];
  readonly media: {
    readonly owner: 'system' | 'manager';
    readonly id: string;
    /** Null: no action; the drive is changed with PATCH. */
    readonly fields: { readonly needs: readonly string[]; readonly refuses: readonly string[] } | null;
    /** Reads for which an ejected image is still shown. */
    readonly shownAfterEject: number;
  };
  /** Location headers with the BMC's own host name in them. */
  readonly absoluteLocations: boolean;
  /** The link in the root to the sessions. */
  readonly sessionLink: 'Links' | 'SessionService';
  readonly minPasswordLength: number;
}

const RESETS = ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'PowerCycle', 'Nmi'];

const SUPERMICRO: VendorProfile = {
  name: 'supermicro',
  root: { Vendor: 'Supermicro', Oem: { Supermicro: {} } },
  manufacturer: 'Supermicro',
  model: 'SYS-620P-TRT',
  firmware: '01.03.14',
  systemId: '1',
  managerId: '1',
  chassisId: '1',
  slots: 16,
  fullMessage: 'Base.1.10.SessionLimitExceeded',
  resetTypes: ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'PowerCycle'],
  actionInfo: true,
  resetTask: 'none',
  bootTargets: ['None', 'Pxe', 'Hdd', 'Cd', 'UsbCd', 'BiosSetup', 'UefiHttp'],
  persistent: true,
  mode: 'reverts',
  settingsId: null,
  etag: 'none',
  light: 'led',
  sensors: 'old',
  log: { owner: 'system', id: 'Log1', newestFirst: false },
  otherLogs: [],
  media: {
    owner: 'manager',
    id: 'CD1',
    fields: { needs: ['Image'], refuses: ['Inserted', 'WriteProtected'] },
    shownAfterEject: 0,
  },
  absoluteLocations: false,
  sessionLink: 'Links',
  minPasswordLength: 8,
};

const IDRAC: VendorProfile = {
  ...SUPERMICRO,
  name: 'idrac',
  root: { Vendor: 'Dell', Product: 'Integrated Dell Remote Access Controller', Oem: { Dell: {} } },
  manufacturer: 'Dell Inc.',
  model: 'PowerEdge R660',
  firmware: '7.10.30.00',
  systemId: 'System.Embedded.1',
  managerId: 'iDRAC.Embedded.1',
  chassisId: 'System.Embedded.1',
  slots: 8,
  fullMessage: 'IDRAC.2.8.RAC0218',
  resetTypes: [...RESETS, 'ForceOn', 'PushPowerButton'],
  actionInfo: false,
  mode: 'free',
  etag: 'checked',
  light: 'active',
  sensors: 'expanded',
  log: { owner: 'manager', id: 'Sel', newestFirst: true },
  otherLogs: ['Lclog', 'FaultList'],
  media: {
    owner: 'manager',
    id: 'CD',
    fields: { needs: ['Image'], refuses: [] },
    shownAfterEject: 2,
  },
};

const ILO: VendorProfile = {
  ...SUPERMICRO,
  name: 'ilo',
  root: { Vendor: 'HPE', Product: 'ProLiant DL380 Gen10', Oem: { Hpe: {} } },
  manufacturer: 'HPE',
  model: 'ProLiant DL380 Gen10',
  firmware: 'iLO 5 v2.72',
  fullMessage: 'Base.1.4.SessionLimitExceeded',
  resetTypes: ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'Nmi', 'PushPowerButton'],
  actionInfo: false,
  bootTargets: ['None', 'Cd', 'Hdd', 'Usb', 'SDCard', 'Utilities', 'Diags', 'BiosSetup', 'Pxe', 'UefiHttp'],
  mode: 'read-only',
  etag: 'checked',
  log: { owner: 'system', id: 'IML', newestFirst: false },
  otherLogs: ['Event', 'SL'],
  media: {
    owner: 'manager',
    id: '2',
    fields: { needs: ['Image'], refuses: ['WriteProtected'] },
    shownAfterEject: 0,
  },
  absoluteLocations: true,
};

const OPENBMC: VendorProfile = {
  ...SUPERMICRO,
  name: 'openbmc',
  root: {},
  manufacturer: 'Ampere',
  model: 'Mt. Jade',
  firmware: '2.14.0',
  systemId: 'system',
  managerId: 'bmc',
  chassisId: 'chassis',
  slots: 64,
  resetTypes: RESETS,
  bootTargets: ['None', 'Pxe', 'Hdd', 'Cd', 'Diags', 'BiosSetup', 'Usb'],
  mode: 'free',
  etag: 'never-fits',
  light: 'active',
  sensors: 'collection',
  log: { owner: 'system', id: 'EventLog', newestFirst: false },
  otherLogs: ['Dump', 'PostCodes', 'HostLogger'],
  media: {
    owner: 'manager',
    id: 'Slot_0',
    fields: { needs: ['Image', 'TransferMethod', 'TransferProtocolType'], refuses: [] },
    shownAfterEject: 0,
  },
};

const MEGARAC: VendorProfile = {
  ...SUPERMICRO,
  name: 'megarac',
  root: { Product: 'AMI Redfish Server', Oem: { Ami: {} } },
  manufacturer: 'ASRockRack',
  model: 'ROMED8-2T',
  firmware: '1.27.00',
  systemId: 'Self',
  managerId: 'Self',
  chassisId: 'Self',
  resetTask: 'monitor',
  mode: 'required',
  settingsId: 'SD',
  etag: 'required',
  light: 'chassis-led',
  media: {
    owner: 'system',
    id: 'CD1',
    fields: { needs: ['Image', 'UserName', 'Password'], refuses: [] },
    shownAfterEject: 0,
  },
};

const XCC: VendorProfile = {
  ...SUPERMICRO,
  name: 'xcc',
  root: { Vendor: 'Lenovo', Oem: { Lenovo: {} } },
  manufacturer: 'Lenovo',
  model: 'ThinkSystem SR650 V2',
  firmware: 'AFBT30P',
  fullMessage: 'Base.1.12.SessionLimitExceeded',
  resetTypes: RESETS,
  resetTask: 'deleting',
  persistent: false,
  mode: 'free',
  etag: 'strength',
  sensors: 'collection',
  media: { owner: 'manager', id: 'EXT1', fields: null, shownAfterEject: 0 },
  sessionLink: 'SessionService',
};

export const VENDORS = {
  supermicro: SUPERMICRO,
  idrac: IDRAC,
  ilo: ILO,
  openbmc: OPENBMC,
  megarac: MEGARAC,
  xcc: XCC,
} as const;
