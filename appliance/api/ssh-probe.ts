// Probes for an SSH server: connects, reads the identification line, disconnects. With a key, it then asks whether the server would let the user
// in with it; nobody gives the appliance a private key.

import { connect } from 'node:net';
import type { KeyProbe } from '../allocations/key-probe.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import { shown } from '../domain/parsed.ts';
import type { Probe, ProbeResult } from './deps.ts';

const PATIENCE = 3 * SECOND;
/** RFC 4253 §4.2: lines before the identification are allowed, each of at most 255 bytes. The probe accepts a few. */
const MOST_BYTES = 8 * 255;

export const sshProbe =
  (now: () => Instant, askKey: KeyProbe, patience = PATIENCE): Probe =>
  async (host, port, login) => {
    const banner = await bannerProbe(now, patience)(host, port);
    if (login === null || !banner.reached) return banner;
    const answer = await askKey({ host, port, ...login });
    if (answer.accepted) return { ...banner, hostKey: answer.hostKey };
    return {
      reached: false,
      reason: `${host} port ${port}: ${login.username} cannot log in with this key: ${answer.reason}`,
    };
  };

/** One deadline for name lookup, connection and banner together. */
const bannerProbe =
  (now: () => Instant, patience: Instant) =>
  (host: string, port: number): Promise<ProbeResult> =>
    new Promise((resolve) => {
      const started = now();
      const socket = connect({ host, port });
      let connected = false;
      let received = '';
      const finish = (result: ProbeResult) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(result);
      };
      const fail = (reason: string) => finish({ reached: false, reason: `${host} port ${port}: ${reason}` });
      const timer = setTimeout(
        () => fail(connected ? 'connected, but no SSH banner before the timeout' : 'no answer before the timeout'),
        patience,
      );

      socket.on('connect', () => {
        connected = true;
      });
      socket.on('error', (error: NodeJS.ErrnoException) => fail(REASONS[error.code ?? ''] ?? error.message));
      socket.on('end', () =>
        fail(`the peer closed the connection${received === '' ? '' : ` after ${shown(received)}`}`),
      );
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
        const banner = received
          .split('\n')
          .slice(0, -1)
          .find((line) => line.startsWith('SSH-'))
          ?.trimEnd();
        if (banner !== undefined) finish({ reached: true, banner: shown(banner), milliseconds: now() - started });
        else if (received.length > MOST_BYTES) fail(`the answer is not SSH: ${shown(received)}`);
      });
    });

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; no server listens on this port',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the DNS lookup failed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to its network',
  ECONNRESET: 'the connection was reset',
};
