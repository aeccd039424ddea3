// Makes the ticket of a boot script: valid for one session of one machine, once, for a quarter of an hour.

import { type BootServer, bootUrl, SESSION_PATH } from '../../boot/boot-paths.ts';
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

/** Enough for the slowest link to fetch kernel and initrd, and for a machine to start them. */
const TICKET_LIFETIME = 15 * MINUTE;

export const ticketMaker =
  (orders: Pick<WorkOrders, 'order'>, now: () => Instant, newId: () => string) =>
  (machine: Machine, outcome: StartingOutcome, server: BootServer): Parsed<DraftTicket> => {
    const mode = modeOf(outcome);
    const order = orders.order(machine, mode, server);
    if (!order.ok) return order;
    const { text, hash } = newSessionSecret();
    const madeAt = now();
    return parsed({
      url: bootUrl(server, `${SESSION_PATH}${text}`),
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
