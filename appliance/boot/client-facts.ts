// What is known about a client, in one form for a DHCP packet, a TFTP name, an HTTP request and an operator's query.

import { readUserClasses } from '../codecs/dhcp4/client-options.ts';
import { readIpxe } from '../codecs/dhcp4/ipxe-encapsulated.ts';
import type { DhcpMessage } from '../codecs/dhcp4/message.ts';
import { readText } from '../codecs/dhcp4/option-values.ts';
import { OPTION } from '../codecs/dhcp4/options.ts';
import {
  type ClientArchitecture,
  type CpuArchitecture,
  cpuFromBuildArch,
  parseClientArchCode,
} from '../domain/architecture.ts';
import { type ChassisUuid, chassisUuidFromOption97, parseChassisUuid } from '../domain/chassis.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import { type Mac, macFromBytes, parseMac } from '../domain/mac.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import { reportedArchitecture } from './client-architecture.ts';

/** Which program sent the request: the firmware's own PXE or HTTP client, iPXE, another boot loader, or an operating system. */
export type ClientProgram = 'firmware-pxe' | 'firmware-http' | 'ipxe' | 'loader' | 'os';

/** What an iPXE build can do (option 175). */
export interface IpxeFeatures {
  /** major.minor.revision, when sent. */
  readonly version: string | null;
  readonly http: boolean;
  readonly https: boolean;
  readonly efi: boolean;
  readonly bzimage: boolean;
  readonly menu: boolean;
}

export interface ClientFacts {
  readonly via: 'dhcp' | 'tftp' | 'http' | 'question';
  readonly program: ClientProgram;
  readonly mac: Mac | null;
  readonly uuid: ChassisUuid | null;
  /** What the firmware reports; null when the request does not say (a TFTP name, a plain OS). */
  readonly architecture: ClientArchitecture | null;
  /** The instruction set, from the architecture or from iPXE's ${buildarch}. */
  readonly cpu: CpuArchitecture | null;
  readonly firmware: 'bios' | 'efi' | 'other' | null;
  /** null: not iPXE, or an iPXE that does not report its features. */
  readonly ipxe: IpxeFeatures | null;
  /** The boot ROM of a Raspberry Pi, whatever architecture it reports: the Pi 2, 3 and 5 report x86 BIOS. */
  readonly raspberryPiRom: boolean;
  /** As sent, like `file`: the code that renders it must escape it. */
  readonly serial: string | null;
  /** The source address, where the transport has one. */
  readonly address: Ipv4 | null;
  /** The relay that forwarded it. */
  readonly relay: Ipv4 | null;
  /** The requested file (TFTP, HTTP). */
  readonly file: string | null;
  /** Notes about the request for the log: malformed options that were ignored. */
  readonly oddities: readonly string[];
}

const NO_FACTS = {
  mac: null,
  uuid: null,
  architecture: null,
  cpu: null,
  firmware: null,
  ipxe: null,
  raspberryPiRom: false,
  serial: null,
  address: null,
  relay: null,
  file: null,
} as const;

const RASPBERRY_PI_OUIS = ['b8:27:eb', 'dc:a6:32', 'e4:5f:01', '28:cd:c1', 'd8:3a:dd', '2c:cf:67'];
/** Loaders that announce themselves in option 60 and are neither PXE firmware nor an operating system. */
const LOADER_VENDOR_CLASSES = /^(?:U-Boot|onie_vendor:)/;
const ETHERNET = 1;
const NO_ADDRESS = '0.0.0.0';
const ABSENT = new Uint8Array();

export function factsFromDhcp(message: DhcpMessage): ClientFacts {
  const oddities = message.oddities === undefined ? [] : [...message.oddities];
  const read = reader(oddities);
  const { options } = message;
  const vendorClass = readText(options.get(OPTION.vendorClass) ?? ABSENT);
  const option93 = options.get(OPTION.clientArchitecture);
  const reported = reportedArchitecture(option93, vendorClass);
  for (const oddity of reported.oddities) oddities.push(oddity);

  const option175 = options.get(OPTION.ipxe);
  const isIpxe = option175 !== undefined || hasIpxeUserClass(options.get(OPTION.userClass) ?? ABSENT);
  const program = isIpxe ? 'ipxe' : programOf(vendorClass, reported.architecture, option93 !== undefined);
  if (program.startsWith('firmware') && vendorClass === '') oddities.push('option 93 without option 60');

  const mac = read(
    message.htype === ETHERNET && message.hlen === 6
      ? macFromBytes(message.chaddr.subarray(0, 6))
      : unparsable(`hardware type ${message.htype} with ${message.hlen} address bytes is not Ethernet`),
  );
  const option97 = options.get(OPTION.chassisUuid);
  const raspberryPiRom = program === 'firmware-pxe' && isRaspberryPiRom(mac, reported.architecture);
  if (raspberryPiRom) oddities.push('the boot ROM of a Raspberry Pi');
  const { architecture, cpu, firmware } = machineKind(reported.architecture, raspberryPiRom);
  // Written out: object spreads take longer than everything above, and this runs for every packet.
  return {
    via: 'dhcp',
    program,
    mac,
    uuid: option97 ? read(chassisUuidFromOption97(option97)) : null,
    architecture,
    cpu,
    firmware,
    ipxe: option175 ? read(featuresOf(option175)) : null,
    raspberryPiRom,
    serial: null,
    address: message.ciaddr === NO_ADDRESS ? null : message.ciaddr,
    relay: message.giaddr === NO_ADDRESS ? null : message.giaddr,
    file: message.file === '' ? null : message.file,
    oddities,
  };
}

/** Older than option 175 as a mark of iPXE, and weaker: `set user-class` in a script replaces it. */
const hasIpxeUserClass = (value: Uint8Array): boolean => value.length > 0 && readUserClasses(value).includes('iPXE');

/** A truncated feature list would look like missing features, so a damaged one counts as absent. */
function featuresOf(option175: Uint8Array): Parsed<IpxeFeatures> {
  const { features, version, damage } = readIpxe(option175);
  if (damage !== null) return unparsable(`option 175: ${damage}`);
  return parsed({
    version,
    http: features.has('http'),
    https: features.has('https'),
    efi: features.has('efi'),
    bzimage: features.has('bzimage'),
    menu: features.has('menu'),
  });
}

function programOf(vendorClass: string, architecture: ClientArchitecture | null, hasOption93: boolean): ClientProgram {
  // EDK2 and iPXE compare only these first bytes.
  if (vendorClass.startsWith('PXEClient')) return 'firmware-pxe';
  if (vendorClass.startsWith('HTTPClient')) return 'firmware-http';
  if (LOADER_VENDOR_CLASSES.test(vendorClass)) return 'loader';
  // Only boot clients send option 93, so a ROM that omits option 60 is still one.
  if (hasOption93) return architecture?.transport === 'http' ? 'firmware-http' : 'firmware-pxe';
  return 'os';
}

const isRaspberryPiRom = (mac: Mac | null, architecture: ClientArchitecture | null): boolean =>
  architecture?.code === 41 ||
  (architecture?.code === 0 && mac !== null && RASPBERRY_PI_OUIS.includes(mac.slice(0, 8)));

/** A Pi's ROM reports x86: keep the reported value, ignore what it implies. */
const machineKind = (architecture: ClientArchitecture | null, raspberryPiRom: boolean) => ({
  architecture,
  cpu: raspberryPiRom ? null : (architecture?.cpu ?? null),
  firmware: raspberryPiRom ? ('other' as const) : (architecture?.firmware ?? null),
});

/** A read request has a file name and little else; `mac` is the holder of the address's lease. */
export function factsFromTftp(request: { address: Ipv4; file: string; mac?: Mac | null }): ClientFacts {
  return {
    ...NO_FACTS,
    via: 'tftp',
    program: tftpProgram(request.file),
    mac: request.mac ?? null,
    address: request.address,
    file: request.file,
    oddities: [],
  };
}

/** Firmware requests the loader it was offered; later programs request other names. */
function tftpProgram(file: string): ClientProgram {
  const name = file.replaceAll('\\', '/');
  if (name.endsWith('.ipxe')) return 'ipxe';
  // shim requests its revocations and certificates, GRUB its modules and configuration.
  return /(?:^|\/)(?:grub|revocations_|shim_certificate_)/.test(name) ? 'loader' : 'firmware-pxe';
}

/** The script's query (`?uuid=&serial=&buildarch=&platform=`), as text from the wire: absent and empty are the same. */
export interface HttpRequestFields {
  readonly path: string;
  readonly address: Ipv4 | null;
  readonly userAgent?: string | undefined;
  readonly mac?: string | undefined;
  readonly uuid?: string | undefined;
  readonly serial?: string | undefined;
  readonly buildarch?: string | undefined;
  readonly platform?: string | undefined;
  /** The code of option 93, if the URL has it. */
  readonly arch?: string | undefined;
}

export function factsFromHttp(request: HttpRequestFields): ClientFacts {
  const oddities: string[] = [];
  const read = reader(oddities);
  const parseField = <T>(text: string | undefined, parse: (text: string) => Parsed<T>): T | null =>
    text === undefined || text === '' ? null : read(parse(text));

  const architecture = parseField(request.arch, parseArchText);
  const platform = request.platform ?? '';
  const serial = (request.serial ?? '').trim();
  return {
    ...NO_FACTS,
    via: 'http',
    program: httpProgram(request),
    mac: parseField(request.mac, parseMac),
    uuid: parseField(request.uuid, parseChassisUuid),
    architecture,
    cpu:
      parseField(request.buildarch, (buildarch) => cpuFromBuildArch(buildarch, platform)) ?? architecture?.cpu ?? null,
    firmware: firmwareOfPlatform(platform) ?? architecture?.firmware ?? null,
    serial: serial === '' ? null : serial,
    address: request.address,
    file: request.path,
    oddities,
  };
}

const parseArchText = (code: string): Parsed<ClientArchitecture> =>
  /^\d{1,5}$/.test(code) ? parseClientArchCode(Number(code)) : unparsable(`not an architecture code: ${shown(code)}`);

function httpProgram(request: HttpRequestFields): ClientProgram {
  const agent = request.userAgent ?? '';
  if (agent.startsWith('UefiHttpBoot')) return 'firmware-http';
  if (agent.startsWith('iPXE') || request.buildarch || request.platform) return 'ipxe';
  return /^(?:GRUB|U-Boot)/i.test(agent) ? 'loader' : 'os';
}

/** iPXE's ${platform}. */
function firmwareOfPlatform(platform: string): ClientFacts['firmware'] {
  if (platform === 'pcbios') return 'bios';
  if (platform === 'efi') return 'efi';
  return platform === '' ? null : 'other';
}

/** Which program asks: the firmware, the iPXE we sent, or the signed GRUB, whose file names have only MAC and UUID. */
export type QuestionStage = 'firmware' | 'ipxe' | 'grub';

/** What a machine would send, for a query about it. */
export interface ClientQuestion {
  readonly mac: Mac;
  readonly architecture: ClientArchitecture;
  readonly uuid: ChassisUuid | null;
  readonly relay: Ipv4 | null;
  readonly stage: QuestionStage;
}

export function factsFromQuestion(question: ClientQuestion): ClientFacts {
  const { architecture, stage, mac, uuid, relay } = question;
  if (stage === 'grub') {
    return { ...NO_FACTS, via: 'question', program: 'loader', mac, uuid, relay, oddities: [] };
  }
  const firmware = architecture.transport === 'http' ? 'firmware-http' : 'firmware-pxe';
  const raspberryPiRom = stage === 'firmware' && isRaspberryPiRom(mac, architecture);
  return {
    ...NO_FACTS,
    via: 'question',
    program: stage === 'ipxe' ? 'ipxe' : firmware,
    mac,
    uuid,
    ...machineKind(architecture, raspberryPiRom),
    ipxe: stage === 'ipxe' ? ownBuild(architecture) : null,
    raspberryPiRom,
    relay,
    oddities: [],
  };
}

/** The features of our iPXE build. */
const ownBuild = (architecture: ClientArchitecture): IpxeFeatures => ({
  version: null,
  http: true,
  https: false,
  efi: architecture.firmware === 'efi',
  bzimage: architecture.firmware === 'bios',
  menu: true,
});

/** A value that does not parse becomes an oddity and counts as absent. */
const reader =
  (oddities: string[]) =>
  <T>(result: Parsed<T>): T | null => {
    if (result.ok) return result.value;
    oddities.push(result.reason);
    return null;
  };
