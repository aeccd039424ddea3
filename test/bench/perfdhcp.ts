// perfdhcp as a relay with many clients: how many exchanges of four packets a server completes at a given rate.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { RackNetwork } from '../../appliance/lab/rack/network.ts';
import { withReceiveBuffers } from './receive-buffers.ts';

const exec = promisify(execFile);

/** More than a server has addresses for would not help: in a long search some repeat, for every server alike. */
const CLIENTS = 50_000;
const LATE_ANSWERS_US = 500_000;
/** OVMF's DISCOVER: booting clients send requests like this. */
const VENDOR_CLASS = Buffer.from('PXEClient:Arch:00007:UNDI:003000').toString('hex');
const X86_64_EFI = '0007';
/** Many times the normal response time of half a second. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;
/** Its exit status when a request was not answered. */
const SOME_DROPPED = 3;

export interface Step {
  /** Requested exchanges per second. */
  readonly requested: number;
  /** Started exchanges per second. */
  readonly begun: number;
  /** Exchanges per second that ended with an ACK. */
  readonly completed: number;
  /** The share of packets whose reply perfdhcp did not get. */
  readonly unanswered: number;
}

export async function perfdhcp(
  client: RackNetwork,
  relay: string,
  server: string,
  requested: number,
  seconds: number,
): Promise<Step> {
  const load = ['-r', String(requested), '-p', String(seconds), '-R', String(CLIENTS), '-W', String(LATE_ANSWERS_US)];
  const options = ['-o', `60,${VENDOR_CLASS}`, '-o', `93,${X86_64_EFI}`];
  const program = client.command('perfdhcp', '-4', '-l', relay, ...load, ...options, '-xi', server);
  const report = await withReceiveBuffers(RECEIVE_BUFFER_BYTES, () => outputOf(program));
  const [offers, acks] = halves(report);
  if (!offers || !acks) throw new Error(`perfdhcp reports nothing:\n${report}`);
  const sent = offers.sent + acks.sent;
  return {
    requested,
    begun: offers.sent / seconds,
    // Its own rate includes the time that it waits for late replies.
    completed: acks.received / seconds,
    unanswered: Math.max(0, 1 - (offers.received + acks.received) / sent),
  };
}

async function outputOf([command, ...args]: readonly [string, ...string[]]): Promise<string> {
  try {
    return (await exec(command, args)).stdout;
  } catch (error) {
    const { code, stdout = '' } = error as { code?: unknown; stdout?: string };
    if (code === SOME_DROPPED) return stdout;
    throw error;
  }
}

/** DISCOVER-OFFER, then REQUEST-ACK. */
const halves = (report: string): { readonly sent: number; readonly received: number }[] =>
  [...report.matchAll(/^sent packets: (\d+)\nreceived packets: (\d+)/gm)].map(([, sent, received]) => ({
    sent: Number(sent),
    received: Number(received),
  }));
