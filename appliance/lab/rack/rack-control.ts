// The orders that a rack that is up takes from other processes: one JSON object in, one out.

import { ColdironError, ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Button } from './buttons.ts';
import { FAULT_KINDS, type FaultRequest } from './faults.ts';
import { askLine } from './line-socket.ts';
import type { RackStatus } from './rack-status.ts';

export type RackOrder =
  | { readonly do: 'status' }
  | { readonly do: 'fault'; readonly fault: FaultRequest }
  | { readonly do: 'press'; readonly machine: string; readonly button: Button }
  | { readonly do: 'down' };

interface Orderable {
  status(): RackStatus;
  fault(request: FaultRequest): Promise<void>;
  slot(name: string): { readonly server: Pressable };
  stop(): Promise<void>;
}

interface Pressable {
  powerOn(): Promise<void>;
  powerOff(): Promise<void>;
  reset(): Promise<void>;
  softOff(): Promise<void>;
}

type Answer =
  | { readonly ok: true; readonly status: RackStatus | null }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string; readonly details: readonly string[] };

export const answerOrders =
  (rack: Orderable) =>
  async (line: string): Promise<string> =>
    JSON.stringify(await carryOut(rack, line));

async function carryOut(rack: Orderable, line: string): Promise<Answer> {
  try {
    const order: RackOrder = JSON.parse(line);
    await follow(rack, order);
    return { ok: true, status: order.do === 'down' ? null : rack.status() };
  } catch (error) {
    const known = error instanceof ColdironError ? error : new ColdironError('internal', (error as Error).message);
    return { ok: false, code: known.code, message: known.message, details: known.details };
  }
}

async function follow(rack: Orderable, order: RackOrder): Promise<void> {
  switch (order.do) {
    case 'status':
      return;
    case 'fault':
      if (!FAULT_KINDS.includes(order.fault.kind)) throw new ColdironError('usage', `no fault: ${order.fault.kind}`);
      return await rack.fault(order.fault);
    case 'press':
      return await press(rack.slot(order.machine).server, order.button);
    case 'down':
      return await rack.stop();
    default:
      throw new ColdironError('usage', 'a rack does not know this order');
  }
}

function press(server: Pressable, button: Button): Promise<void> {
  switch (button) {
    case 'on':
      return server.powerOn();
    case 'off':
      return server.powerOff();
    case 'reset':
      return server.reset();
    case 'soft':
      return server.softOff();
  }
}

/** A failure at the other end is thrown here; null: the rack went down as ordered. */
export async function orderRack(control: string, order: RackOrder, milliseconds = 60_000): Promise<RackStatus | null> {
  const answer: Answer = JSON.parse(await askLine(control, JSON.stringify(order), milliseconds));
  if (answer.ok) return answer.status;
  throw new ColdironError(answer.code in ERRORS ? answer.code : 'internal', answer.message, answer.details);
}
