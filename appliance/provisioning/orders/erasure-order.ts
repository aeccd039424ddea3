// The samples of erased disks in an order, and the reports about them.

import type { ErasedDisk, Sample, SampledDisk, SampledState } from '../../domain/erasure.ts';
import type { Json } from '../../domain/event.ts';
import { plainLine } from '../../domain/plain-line.ts';
import type { OutcomeBody, StepBody } from '../sessions/reports.ts';

/** `erased` of an order. Empty: there is nothing to verify. */
export const erasedJson = (disks: readonly SampledDisk[]): { readonly [key: string]: Json } =>
  disks.length === 0
    ? {}
    : {
        erased: disks.map(({ name, serial, bytes, samples }) => ({
          ...{ name, serial, bytes },
          samples: samples.map(([offset, length]) => [offset, length]),
        })),
      };

/** Of an order that this appliance wrote. */
export function orderedSamples(order: Json): SampledDisk[] {
  const { erased } = order as { readonly erased?: readonly (Omit<SampledDisk, 'samples'> & { samples: Sample[] })[] };
  return [...(erased ?? [])];
}

type ReportedSample = NonNullable<StepBody['samples']>[number];

export const sampledState = ({ disk, state, bytes, offset }: ReportedSample): SampledState => ({
  ...{ disk, state, bytes },
  offset: offset ?? null,
});

export const erasedDisks = ({ erased }: OutcomeBody): ErasedDisk[] =>
  (erased ?? []).map(({ name, serial, bytes, method }) => ({
    name: plainLine(name),
    serial: serial == null ? null : plainLine(serial),
    bytes,
    method: plainLine(method),
  }));
