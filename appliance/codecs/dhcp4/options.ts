// DHCP options by name (IANA "BOOTP Vendor Extensions and DHCP Options"), the document that defines each, and its format.

import type { DhcpMessage } from './message.ts';

/** The format of a value, for displaying it. */
export type ValueForm =
  | 'ipv4'
  | 'ipv4-list'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'text'
  | 'message-type'
  | 'option-codes'
  | 'client-identifier'
  | 'user-classes'
  | 'relay-agent'
  | 'architectures'
  | 'network-interface'
  | 'chassis-uuid'
  | 'pxe-vendor'
  | 'ipxe'
  | 'bytes';

type Row = readonly [code: number, name: string, definedIn: string, form: ValueForm];

const TABLE = {
  subnetMask: [1, 'subnet mask', 'RFC 2132 §3.3', 'ipv4'],
  router: [3, 'router', 'RFC 2132 §3.5', 'ipv4-list'],
  domainNameServer: [6, 'domain name server', 'RFC 2132 §3.8', 'ipv4-list'],
  logServer: [7, 'log server', 'RFC 2132 §3.9', 'ipv4-list'],
  hostName: [12, 'host name', 'RFC 2132 §3.14', 'text'],
  bootFileSize: [13, 'boot file size', 'RFC 2132 §3.15', 'u16'],
  domainName: [15, 'domain name', 'RFC 2132 §3.17', 'text'],
  rootPath: [17, 'root path', 'RFC 2132 §3.19', 'text'],
  interfaceMtu: [26, 'interface MTU', 'RFC 2132 §5.1', 'u16'],
  broadcastAddress: [28, 'broadcast address', 'RFC 2132 §5.3', 'ipv4'],
  ntpServer: [42, 'NTP server', 'RFC 2132 §8.3', 'ipv4-list'],
  vendorSpecific: [43, 'vendor specific', 'RFC 2132 §8.4', 'pxe-vendor'],
  requestedAddress: [50, 'requested address', 'RFC 2132 §9.1', 'ipv4'],
  leaseTime: [51, 'lease time', 'RFC 2132 §9.2', 'u32'],
  overload: [52, 'overload', 'RFC 2132 §9.3', 'u8'],
  messageType: [53, 'message type', 'RFC 2132 §9.6', 'message-type'],
  serverIdentifier: [54, 'server identifier', 'RFC 2132 §9.7', 'ipv4'],
  parameterRequestList: [55, 'parameter request list', 'RFC 2132 §9.8', 'option-codes'],
  errorMessage: [56, 'message', 'RFC 2132 §9.9', 'text'],
  maxMessageSize: [57, 'maximum message size', 'RFC 2132 §9.10', 'u16'],
  renewalTime: [58, 'renewal time', 'RFC 2132 §9.11', 'u32'],
  rebindingTime: [59, 'rebinding time', 'RFC 2132 §9.12', 'u32'],
  vendorClass: [60, 'vendor class', 'RFC 2132 §9.13', 'text'],
  clientIdentifier: [61, 'client identifier', 'RFC 2132 §9.14', 'client-identifier'],
  tftpServerName: [66, 'TFTP server name', 'RFC 2132 §9.4', 'text'],
  bootFileName: [67, 'boot file name', 'RFC 2132 §9.5', 'text'],
  userClass: [77, 'user class', 'RFC 3004 §4', 'user-classes'],
  clientFqdn: [81, 'client FQDN', 'RFC 4702 §2', 'bytes'],
  relayAgentInformation: [82, 'relay agent information', 'RFC 3046 §2', 'relay-agent'],
  clientArchitecture: [93, 'client architecture', 'RFC 4578 §2.1', 'architectures'],
  networkInterface: [94, 'client network interface', 'RFC 4578 §2.2', 'network-interface'],
  chassisUuid: [97, 'client machine identifier', 'RFC 4578 §2.3', 'chassis-uuid'],
  url: [114, 'URL', 'RFC 8910 §2.1; ONIE reads an installer URL from it', 'text'],
  subnetSelection: [118, 'subnet selection', 'RFC 3011 §2', 'ipv4'],
  domainSearch: [119, 'domain search', 'RFC 3397 §2', 'bytes'],
  classlessRoutes: [121, 'classless static routes', 'RFC 3442', 'bytes'],
  vendorIdentifying: [125, 'vendor-identifying information', 'RFC 3925 §4', 'bytes'],
  tftpServerAddress: [150, 'TFTP server address', 'RFC 5859 §2', 'ipv4-list'],
  ipxe: [175, 'iPXE', 'iPXE, encapsulated options', 'ipxe'],
  pxelinuxMagic: [208, 'PXELINUX magic', 'RFC 5071 §3', 'bytes'],
  configurationFile: [209, 'configuration file', 'RFC 5071 §4', 'text'],
  pathPrefix: [210, 'path prefix', 'RFC 5071 §5', 'text'],
  rebootTime: [211, 'reboot time', 'RFC 5071 §6', 'u32'],
} as const satisfies Record<string, Row>;

type OptionKey = keyof typeof TABLE;

/** The code of each named option. */
export const OPTION = Object.fromEntries(Object.entries(TABLE).map(([key, [code]]) => [key, code])) as {
  readonly [Key in OptionKey]: (typeof TABLE)[Key][0];
};

interface OptionKind {
  readonly name: string;
  /** The document and section that define it. */
  readonly definedIn: string;
  readonly form: ValueForm;
}

export const OPTION_KINDS: ReadonlyMap<number, OptionKind> = new Map(
  Object.values<Row>(TABLE).map(([code, name, definedIn, form]) => [code, { name, definedIn, form }]),
);

/** RFC 2132 §9.6, in numeric order, starting at 1. */
const MESSAGE_TYPES = ['discover', 'offer', 'request', 'decline', 'ack', 'nak', 'release', 'inform'] as const;
export type DhcpMessageType = (typeof MESSAGE_TYPES)[number];

/** null: the option is missing (plain BOOTP), or is not one known type. */
export function messageType(message: Pick<DhcpMessage, 'options'>): DhcpMessageType | null {
  const value = message.options.get(OPTION.messageType);
  return value === undefined ? null : readMessageType(value);
}

export function readMessageType(value: Uint8Array): DhcpMessageType | null {
  return value.length === 1 ? (MESSAGE_TYPES[(value[0] ?? 0) - 1] ?? null) : null;
}

export const writeMessageType = (type: DhcpMessageType): Uint8Array => Uint8Array.of(MESSAGE_TYPES.indexOf(type) + 1);
