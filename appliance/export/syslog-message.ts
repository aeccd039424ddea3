// Syslog messages of RFC 5424, and their framing on a stream (RFC 6587 §3.4.1, RFC 5425 §4.3: the length in octets, a space).
//
//   <PRI>1 TIMESTAMP HOSTNAME APP-NAME PROCID MSGID [STRUCTURED-DATA] MSG

import type { Severity } from '../domain/events/event-row.ts';
import { instantText } from '../domain/instant.ts';
import { type ExportMessage, LABELS } from './message.ts';

/** RFC 5424 §6.2.1, the facilities that are not a service of the operating system. */
export const FACILITIES = {
  user: 1,
  daemon: 3,
  local0: 16,
  local1: 17,
  local2: 18,
  local3: 19,
  local4: 20,
  local5: 21,
  local6: 22,
  local7: 23,
} as const;
export type Facility = keyof typeof FACILITIES;
export const FACILITY_NAMES = Object.keys(FACILITIES) as Facility[];

const SEVERITY: Readonly<Record<Severity, number>> = { error: 3, warning: 4, info: 6 };

/** 32473 is the enterprise number that RFC 5612 reserves for names without a registration. */
const ELEMENT = 'coldiron@32473';
const APP_NAME = 'coldiron';
/** RFC 5424 §6.1 recommends that receivers take 2048 octets; rsyslog and syslog-ng take 8192 or more on a stream. */
const MOST_ON_STREAM = 8000;
const MOST_IN_DATAGRAM = 2048;

export interface SyslogFrame {
  readonly facility: Facility;
  /** The host that the appliance runs on. */
  readonly host: string;
}

/** The data of the event is left out when the message would be too long, and a long sentence is cut. */
export function syslogMessage(message: ExportMessage, frame: SyslogFrame, transport: 'stream' | 'datagram'): Buffer {
  const most = transport === 'stream' ? MOST_ON_STREAM : MOST_IN_DATAGRAM;
  const whole = Buffer.from(syslogText(message, frame, true));
  if (whole.length <= most) return whole;
  const short = Buffer.from(syslogText(message, frame, false));
  return short.length <= most ? short : wholeCharacters(short.subarray(0, most));
}

/** RFC 5425 §4.3. */
export const framed = (message: Buffer): Buffer => Buffer.concat([Buffer.from(`${message.length} `), message]);

function syslogText(message: ExportMessage, { facility, host }: SyslogFrame, withData: boolean): string {
  const { id, seq, at, kind, severity, actor, sentence, labels, data } = message;
  const priority = FACILITIES[facility] * 8 + SEVERITY[severity];
  const parameters: readonly (readonly [string, string | null])[] = [
    ['id', id],
    ['seq', String(seq)],
    ['kind', kind],
    ...LABELS.map((name) => [name, labels[name]] as const),
    ['actor', actor],
    ['data', withData ? JSON.stringify(data) : null],
  ];
  const element = parameters.flatMap(([name, value]) => (value === null ? [] : [` ${name}="${escaped(value)}"`]));
  const head = `<${priority}>1 ${instantText(at)} ${word(host, 255)} ${APP_NAME} - ${word(kind, 32)}`;
  return `${head} [${ELEMENT}${element.join('')}] ${sentence}`;
}

/** PRINTUSASCII; `-` stands for no value. */
const word = (text: string, most: number): string => text.replace(/[^\x21-\x7e]/g, '_').slice(0, most) || '-';

/** RFC 5424 §6.3.3. */
const escaped = (value: string): string => value.replace(/["\\\]]/g, '\\$&');

/** Without the part of a character at the end: continuation bytes of UTF-8 are 10xxxxxx. */
function wholeCharacters(bytes: Buffer): Buffer {
  const text = new TextDecoder('utf-8').decode(bytes, { stream: true });
  return Buffer.from(text);
}
