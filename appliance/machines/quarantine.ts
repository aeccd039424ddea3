// A known MAC in another chassis is not the known machine: it is quarantined, once, by the first server that sees it.

import type { Finding } from '../boot/decide-boot.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { MachineCommands } from './execute.ts';
import { APPLIANCE } from './record.ts';
import { possibleEvents } from './step.ts';

interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export function quarantineOn(
  commands: Pick<MachineCommands, 'request'>,
  log: Log,
): (machine: Machine, finding: Finding) => void {
  const underWay = new Set<MachineId>();

  const quarantine = async ({ id, spec }: Machine, note: string): Promise<void> => {
    underWay.add(id);
    try {
      await commands.request(id, 'quarantine', { actor: APPLIANCE, correlationId: null, note });
      log.warn({ node: spec.hostname, note }, 'quarantined');
    } catch (error) {
      // Another caller was first, or it was removed meanwhile.
      if (error instanceof ColdironError && error.code === 'conflict') return;
      log.error({ err: error, node: spec.hostname }, 'a machine could not be quarantined; its boot is refused anyway');
    } finally {
      underWay.delete(id);
    }
  };

  return (machine, finding) => {
    if (finding.kind !== 'chassis-mismatch' || underWay.has(machine.id)) return;
    if (!possibleEvents(machine.lifecycle).includes('quarantine')) return;
    void quarantine(
      machine,
      `another chassis boots with its MAC address: ${finding.seen} instead of ${finding.expected}`,
    );
  };
}
