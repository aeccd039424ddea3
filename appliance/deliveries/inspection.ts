// Converts the inspection report of the service OS to the form that renderers use.

import type { Json } from '../domain/event.ts';
import { readFacts } from '../provisioning/sessions/reports.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';

export function inspectionOf(facts: Json): Inspection {
  const { firmware, disks } = readFacts(facts);
  return {
    firmware: firmware?.kind === 'bios' ? 'bios' : 'efi',
    disks: disks
      // As in the service OS: never an installation target.
      .filter(({ read_only: isReadOnly, removable }) => isReadOnly !== true && removable !== true)
      .map(({ name, by_id: byId = [], serial, model, bytes, rotational }) => ({
        path: name.startsWith('/') ? name : `/dev/${name}`,
        byId,
        serial: serial ?? null,
        model: model ?? null,
        bytes,
        rotational: rotational ?? false,
      })),
  };
}
