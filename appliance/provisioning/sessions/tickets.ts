// Makes the ticket of a boot script: valid for one session of one machine, once, for a quarter of an hour.

import { type BootServer, bootUrl, SESSION_PATH, sessionUrl } from '../../boot/boot-paths.ts';
import type { StartingOutcome } from '../../boot/startability.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import { type Parsed, parsed } from '../../domain/parsed.ts';
import type { SessionId } from '../../domain/session.ts';
import type { NewTicket } from '../../store/session-store.ts';
import { modeOf } from '../orders/order.ts';
import type { WorkOrders } from '../orders/work-orders.ts';
import { newSessionSecret } from './session-secret.ts';

/** Not stored yet: the issuer stores it first. */
export interface DraftTicket {
  readonly url: string;
  readonly ticket: NewTicket;
}

export interface TicketDeps {
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly nodePort: () => number | null;
}

/** Enough for the slowest link to fetch kernel and initrd, and for a machine to start them. */
const TICKET_LIFETIME = 15 * MINUTE;

/** `verifiesTls`: the image that starts trusts this appliance's authority, and only it. */
export const ticketMaker =
  (orders: Pick<WorkOrders, 'order'>, { now, newId, nodePort }: TicketDeps) =>
  (machine: Machine, outcome: StartingOutcome, server: BootServer, verifiesTls: boolean): Parsed<DraftTicket> => {
    const mode = modeOf(outcome);
    const order = orders.order(machine, mode, server);
    if (!order.ok) return order;
    const { text, hash } = newSessionSecret();
    const madeAt = now();
    const port = verifiesTls ? nodePort() : null;
    const path = `${SESSION_PATH}${text}`;
    return parsed({
      url: port === null ? bootUrl(server, path) : sessionUrl(server, port, path),
      ticket: {
        id: newId() as SessionId,
        machine: machine.id,
        mode,
        order: order.value,
        ticketHash: hash,
        madeAt,
        expiresAt: madeAt + TICKET_LIFETIME,
      },
    });
  };
