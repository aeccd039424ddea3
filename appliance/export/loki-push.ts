// The body of Loki's push request (`POST /loki/api/v1/push`). One stream for each combination of stream labels; everything else is
// structured metadata of the line. A stream label with many values makes many streams, which Loki keeps open in memory.

import { instantText } from '../domain/instant.ts';
import { type ExportMessage, LABELS, type Label } from './message.ts';

type Entry = readonly [nanoseconds: string, line: string, metadata: Readonly<Record<string, string>>];

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: Entry[];
}

export function lokiPush(messages: readonly ExportMessage[], streamLabels: readonly Label[]): { streams: Stream[] } {
  const streams = new Map<string, Stream>();
  for (const message of messages) {
    const { labels, severity } = message;
    const present = LABELS.flatMap((name) => (labels[name] === null ? [] : [[name, labels[name]] as const]));
    const isStreamLabel = ([name]: readonly [Label, string]): boolean => streamLabels.includes(name);
    const stream = { job: 'coldiron', severity, ...Object.fromEntries(present.filter(isStreamLabel)) };
    const metadata = Object.fromEntries(present.filter((each) => !isStreamLabel(each)));
    const key = JSON.stringify(stream);
    const known: Stream = streams.get(key) ?? { stream, values: [] };
    streams.set(key, known);
    known.values.push([nanosecondsOf(message), lineOf(message), metadata]);
  }
  return { streams: [...streams.values()] };
}

/**
 * Milliseconds, then the number of the event: events of the same millisecond keep their order, and a repetition has the same time and the
 * same line, which Loki stores once.
 */
const nanosecondsOf = ({ at, seq }: ExportMessage): string =>
  `${Math.floor(at)}${String(seq % 1_000_000).padStart(6, '0')}`;

const lineOf = ({ id, seq, at, kind, severity, actor, sentence, data }: ExportMessage): string =>
  JSON.stringify({ id, seq, at: instantText(at), kind, severity, actor, message: sentence, data });
