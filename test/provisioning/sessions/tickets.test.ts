import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse, parsed } from '../../../appliance/domain/parsed.ts';
import { ticketMaker } from '../../../appliance/provisioning/sessions/tickets.ts';
import { aMachine, T0 } from '../../machines/machines.ts';

describe('a ticket', () => {
  it('is valid for a quarter of an hour, for one machine and one kind of work', () => {
    const make = ticketMaker(
      { order: () => parsed({ mode: 'commission' }) },
      () => T0,
      () => 'session-1',
    );
    const server = { address: mustParse(parseIpv4('10.0.0.1')), bootPort: 8080 };
    const machine = aMachine({});
    const draft = mustParse(make(machine, { kind: 'service-os', mode: 'commission' }, server));
    expect(draft.ticket).toMatchObject({ id: 'session-1', machine: machine.id, mode: 'commission', madeAt: T0 });
    expect(draft.ticket.expiresAt).toBe(T0 + 15 * MINUTE);
  });
});
