// Resolves the disks that a storage declaration selects. All fields of a selector must match exactly one disk: an installation
// wipes its disks, so there is no guessing between two matches.

import { bytesInWords } from '../../domain/byte-size.ts';
import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { DiskSelector, Storage } from '../../domain/system.ts';

/** A disk as the inspection found it. */
export interface InspectedDisk {
  /** The kernel name in this boot: /dev/sda. */
  readonly path: string;
  /** Its names below /dev/disk/by-id. */
  readonly byId: readonly string[];
  readonly serial: string | null;
  readonly model: string | null;
  readonly bytes: number;
  readonly rotational: boolean;
}

/** One path per selector, in order. */
export function chooseDisks(
  storage: Pick<Storage, 'disks'>,
  disks: readonly InspectedDisk[],
): Parsed<readonly string[]> {
  const matched = matchDisks(storage, disks);
  if (!matched.ok) return matched;
  const alone = disks.length === 1;
  const paths = all(matched.value.map((disk, at) => pathOf(disk, storage.disks[at]?.byId ?? null, alone)));
  // Two disks may report the same id.
  const twice = paths.ok ? paths.value.filter((path, at) => paths.value.indexOf(path) !== at) : [];
  if (twice.length === 0) return paths;
  return unparsable([...new Set(twice)].map((path) => `${path} is matched by two selectors`).join('; '));
}

/** One disk per selector, in order. */
export function matchDisks(
  storage: Pick<Storage, 'disks'>,
  disks: readonly InspectedDisk[],
): Parsed<readonly InspectedDisk[]> {
  const named = storage.disks.map((selector) =>
    selector.byId === null ? undefined : disks.find(({ byId }) => byId.includes(selector.byId ?? '')),
  );
  const chosen = storage.disks.map((selector) => {
    const free = selector.byId === null ? disks.filter((disk) => !named.includes(disk)) : disks;
    return chooseOne(selector, free, disks);
  });
  const reasons = chosen.flatMap((choice) => (choice.ok ? [] : [choice.reason]));
  const matched = chosen.flatMap((choice) => (choice.ok ? [choice.value] : []));
  const twice = matched.filter((disk, at) => matched.indexOf(disk) !== at);
  const problems = [...reasons, ...new Set(twice.map((disk) => `${diskText(disk)} is matched by two selectors`))];
  return problems.length === 0 ? parsed(matched) : unparsable(problems.join('; '));
}

/** Without an inspection only a name below /dev/disk/by-id identifies a disk. */
export function pathsWithoutInspection(storage: Pick<Storage, 'disks'>): Parsed<readonly string[]> {
  const chosen = storage.disks.map(({ byId }) => (byId === null ? null : byIdPath(byId)));
  if (chosen.includes(null)) {
    const open = storage.disks.filter(({ byId }) => byId === null).map(selectorText);
    return unparsable(`which disk is the one with ${open.join(', and which with ')}, is known after an inspection`);
  }
  return all(chosen.filter((path) => path !== null));
}

function chooseOne(
  selector: DiskSelector,
  free: readonly InspectedDisk[],
  disks: readonly InspectedDisk[],
): Parsed<InspectedDisk> {
  const matching = free.filter((disk) => matches(selector, disk));
  const [only, ...more] = matching;
  if (only === undefined) {
    const there = disks.length === 0 ? 'it has no disk' : `it has ${disks.map(diskText).join(', ')}`;
    return unparsable(`no disk matches ${selectorText(selector)}; ${there}`);
  }
  if (more.length > 0) {
    const found = matching.map(diskText).join(', ');
    return unparsable(`${matching.length} disks match ${selectorText(selector)}: ${found}; name one by its id`);
  }
  return parsed(only);
}

function matches(selector: DiskSelector, disk: InspectedDisk): boolean {
  const { byId, serial, model, minBytes, maxBytes, rotational } = selector;
  return (
    (byId === null || disk.byId.includes(byId)) &&
    (serial === null || disk.serial === serial) &&
    (model === null || disk.model?.toLowerCase() === model.toLowerCase()) &&
    (minBytes === null || disk.bytes >= minBytes) &&
    (maxBytes === null || disk.bytes <= maxBytes) &&
    (rotational === null || disk.rotational === rotational)
  );
}

/** A kernel name may belong to another disk after the next boot, unless there is only one disk. */
function pathOf(disk: InspectedDisk, byId: string | null, isAlone: boolean): Parsed<string> {
  const name = byId ?? preferredName(disk.byId);
  if (name !== undefined) return byIdPath(name);
  if (isAlone && /^\/dev\/[a-z0-9]+$/.test(disk.path)) return parsed(disk.path);
  return unparsable(`${diskText(disk)} has no name below /dev/disk/by-id, and there are other disks`);
}

/** Prefers a name that is printed on the disk's label over a number. */
function preferredName(names: readonly string[]): string | undefined {
  const rank = (name: string): number => (/^(?:wwn-|nvme-eui|nvme-uuid|nvme-nvme|scsi-3)/.test(name) ? 1 : 0);
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))[0];
}

/** disko writes it into its shell scripts unquoted. */
function byIdPath(name: string): Parsed<string> {
  if (/^[A-Za-z0-9][\w.:+,=@-]*$/.test(name)) return parsed(`/dev/disk/by-id/${name}`);
  return unparsable(`not a name below /dev/disk/by-id: ${shown(name)}`);
}

function all(results: readonly Parsed<string>[]): Parsed<readonly string[]> {
  const reasons = results.flatMap((result) => (result.ok ? [] : [result.reason]));
  if (reasons.length > 0) return unparsable(reasons.join('; '));
  return parsed(results.flatMap((result) => (result.ok ? [result.value] : [])));
}

function selectorText({ byId, serial, model, minBytes, maxBytes, rotational }: DiskSelector): string {
  const parts = [
    ...(byId === null ? [] : [`id ${shown(byId)}`]),
    ...(serial === null ? [] : [`serial ${shown(serial)}`]),
    ...(model === null ? [] : [`model ${shown(model)}`]),
    ...(minBytes === null || minBytes <= 1 ? [] : [`at least ${bytesInWords(minBytes)}`]),
    ...(maxBytes === null ? [] : [`at most ${bytesInWords(maxBytes)}`]),
    ...(rotational === null ? [] : [rotational ? 'rotating' : 'not rotating']),
  ];
  return parts.length === 0 ? 'nothing said of it' : parts.join(', ');
}

const diskText = ({ path, byId, model, bytes }: InspectedDisk): string =>
  `${shown(preferredName(byId) ?? path)} (${model === null ? '' : `${shown(model)}, `}${bytesInWords(bytes)})`;
