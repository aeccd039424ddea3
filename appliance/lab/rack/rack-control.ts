// The commands that a running rack accepts from other processes: one JSON object in, one out.

import { ColdironError, ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { Button } from './buttons.ts';
import { FAULT_KINDS, type FaultRequest } from './faults.ts';
import { requestLine } from './line-socket.ts';
import type { RackStatus } from './rack-status.ts';

export type RackOrder =
  | { readonly do: 'status' }
  | { readonly do: 'fault'; readonly fault: FaultRequest }
  | { readonly do: 'press'; readonly machine: string; readonly button: Button }
  | { readonly do: 'down' };

interface ControllableRack {
  status(): RackStatus;
  fault(request: FaultRequest): Promise<void>;
  slot(name: string): { readonly server: PowerButtons };
  stop(): Promise<void>;
}

interface PowerButtons {
  powerOn(): Promise<void>;
  powerOff(): Promise<void>;
  reset(): Promise<void>;
  softOff(): Promise<void>;
}

type Reply =
  | { readonly ok: true; readonly status: RackStatus | null }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string; readonly details: readonly string[] };

export const handleOrders =
  (rack: ControllableRack) =>
  async (line: string): Promise<string> =>
    JSON.stringify(await replyTo(rack, line));

async function replyTo(rack: ControllableRack, line: string): Promise<Reply> {
  try {
    const order: RackOrder = JSON.parse(line);
    await execute(rack, order);
    return { ok: true, status: order.do === 'down' ? null : rack.status() };
  } catch (error) {
    const known = error instanceof ColdironError ? error : new ColdironError('internal', (error as Error).message);
    return { ok: false, code: known.code, message: known.message, details: known.details };
  }
}

async function execute(rack: ControllableRack, order: RackOrder): Promise<void> {
  switch (order.do) {
    case 'status':
      return;
    case 'fault':
      if (!FAULT_KINDS.includes(order.fault.kind))
        throw new ColdironError('usage', `unknown fault: ${order.fault.kind}`);
      return await rack.fault(order.fault);
    case 'press':
      return await press(rack.slot(order.machine).server, order.button);
    case 'down':
      return await rack.stop();
    default:
      throw new ColdironError('usage', 'unknown rack command');
  }
}

function press(server: PowerButtons, button: Button): Promise<void> {
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

/** Throws a failure at the other end; null: the rack was taken down as requested. */
export async function orderRack(control: string, order: RackOrder, milliseconds = 60_000): Promise<RackStatus | null> {
  const reply: Reply = JSON.parse(await requestLine(control, JSON.stringify(order), milliseconds));
  if (reply.ok) return reply.status;
  throw new ColdironError(reply.code in ERRORS ? reply.code : 'internal', reply.message, reply.details);
}
