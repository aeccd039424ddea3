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
      { now: () => T0, newId: () => 'session-1', nodePort: () => 8444 },
    );
    const server = { address: mustParse(parseIpv4('10.0.0.1')), bootPort: 8080 };
    const machine = aMachine({});
    const draft = mustParse(make(machine, { kind: 'service-os', mode: 'commission' }, server, false));
    expect(draft.ticket).toMatchObject({ id: 'session-1', machine: machine.id, mode: 'commission', madeAt: T0 });
    expect(draft.ticket.expiresAt).toBe(T0 + 15 * MINUTE);
  });

  it('is presented over TLS by an image that trusts this appliance, while the node API is on', () => {
    const server = { address: mustParse(parseIpv4('10.0.0.1')), bootPort: 8080 };
    const urlFor = (nodePort: number | null, verifiesTls: boolean): string =>
      mustParse(
        ticketMaker(
          { order: () => parsed({ mode: 'commission' }) },
          { now: () => T0, newId: () => 'session-1', nodePort: () => nodePort },
        )(aMachine({}), { kind: 'service-os', mode: 'commission' }, server, verifiesTls),
      ).url;
    expect(urlFor(8444, true)).toMatch(/^https:\/\/10\.0\.0\.1:8444\/boot\/session\/[\w-]{43}$/);
    expect(urlFor(8444, false)).toMatch(/^http:\/\/10\.0\.0\.1:8080\/boot\/session\/[\w-]{43}$/);
    expect(urlFor(null, true)).toMatch(/^http:\/\/10\.0\.0\.1:8080\//);
  });
});
