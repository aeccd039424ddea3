// What the agent of a node reports about the operating system of the node: units of systemd that failed, with their last lines, and how
// cloud-init ended. It is text from a machine: bounded, without secrets, one plain line each.

import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Json } from '../event.ts';
import { plainLine } from '../plain-line.ts';
import { beginsPrivateKey, endsPrivateKey, MASKED, maskSecrets } from '../secret-masks.ts';

const Line = Type.String();
const Lines = Type.Array(Line);

const FailedUnit = Type.Object({
  unit: Line,
  /** The property `Result` of systemd, such as `exit-code` or `timeout`. */
  result: Line,
  /** The last lines of its log. */
  lines: Lines,
});

const CloudInitEnd = Type.Object({
  /** As cloud-init says it: `done`, `error`, `disabled`. */
  status: Line,
  errors: Lines,
  /** Errors after which it went on. */
  warnings: Lines,
});

export const NodeSystem = Type.Object({
  units: Type.Array(FailedUnit),
  /** Failed units that are not in the list. */
  more_units: Type.Number(),
  /** Null: the system has no cloud-init, or it has not ended yet. */
  cloud_init: Type.Union([CloudInitEnd, Type.Null()]),
});
export type NodeSystem = Static<typeof NodeSystem>;

export const MOST_UNITS = 8;
export const MOST_LINES = 5;
const MOST_CHARACTERS = 300;
const MOST_NAME = 128;

export const isDegraded = (system: NodeSystem): boolean => system.units.length > 0 || cloudInitFailed(system);

export const cloudInitFailed = ({ cloud_init: end }: NodeSystem): boolean =>
  end !== null && (end.status === 'error' || end.errors.length > 0);

/** As it was stored; null: of another version, or there is none. */
export const knownSystem = (stored: Json | undefined): NodeSystem | null =>
  stored !== undefined && Check(NodeSystem, stored) ? stored : null;

/**
 * `units`: for each failed unit a line `unit NAME RESULT`, followed by its last lines as `line TEXT`. `cloudInit`: the output of
 * `cloud-init status --format json`, or its `result.json`; empty: it has not ended.
 */
export function readNodeSystem(units: string, cloudInit: string): NodeSystem {
  const failed: NodeSystem['units'] = [];
  let more = 0;
  for (const [name, result, lines] of unitsIn(units)) {
    if (failed.length >= MOST_UNITS) more += 1;
    else
      failed.push({ unit: cleanLine(name, MOST_NAME), result: cleanLine(result, MOST_NAME), lines: lastLines(lines) });
  }
  return { units: failed, more_units: more, cloud_init: cloudInit.trim() === '' ? null : cloudInitEnd(cloudInit) };
}

/** The last lines that say something, without secrets. */
export function lastLines(lines: readonly string[]): string[] {
  let inKey = false;
  const masked = lines.map((line) => {
    const wasInKey = inKey;
    if (beginsPrivateKey(line)) inKey = true;
    const hidden = wasInKey || inKey;
    if (endsPrivateKey(line)) inKey = false;
    return hidden ? MASKED : line;
  });
  return masked
    .filter((line) => line.trim() !== '')
    .slice(-MOST_LINES)
    .map((line) => cleanLine(line, MOST_CHARACTERS));
}

const cleanLine = (text: string, most: number): string => {
  const clean = plainLine(maskSecrets(text.slice(0, 4 * most)).trim());
  return clean.length <= most ? clean : `${clean.slice(0, most - 1)}…`;
};

type ReportedUnit = readonly [name: string, result: string, lines: string[]];

function unitsIn(text: string): ReportedUnit[] {
  const units: ReportedUnit[] = [];
  for (const line of text.split('\n')) {
    const [word = '', rest = ''] = cut(line);
    if (word === 'unit' && rest !== '') {
      const [name, result] = cut(rest);
      units.push([name, result.trim() || 'failed', []]);
    } else if (word === 'line') units.at(-1)?.[2].push(rest);
  }
  return units;
}

const cut = (text: string): readonly [string, string] => {
  const space = text.indexOf(' ');
  return space === -1 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
};

const Texts = Type.Array(Type.String());
/** What both forms have in common; other members are ignored. */
const CloudInitOutput = Type.Object({
  status: Type.Optional(Type.String()),
  errors: Type.Optional(Texts),
  recoverable_errors: Type.Optional(Type.Record(Type.String(), Texts)),
  v1: Type.Optional(Type.Object({ errors: Texts })),
});
/** Messages about old keywords are at other levels, and are no errors. */
const WARNING_LEVELS = ['WARNING', 'ERROR', 'CRITICAL'];

function cloudInitEnd(text: string): NonNullable<NodeSystem['cloud_init']> {
  const output = parsedJson(text);
  if (!Check(CloudInitOutput, output)) return { status: 'its status cannot be read', errors: [], warnings: [] };
  const errors = output.errors ?? output.v1?.errors ?? [];
  const recovered = WARNING_LEVELS.flatMap((level) => output.recoverable_errors?.[level] ?? []);
  const status = output.status ?? (errors.length === 0 ? 'done' : 'error');
  return { status: cleanLine(status, MOST_NAME), errors: lastLines(errors), warnings: lastLines(recovered) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
