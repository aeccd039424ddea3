// Records each request in the trail and in the log: one line per exchange.

import { parseGrubConfigName } from '../../boot/replies/grub-config.ts';
import type { TransferTerms } from '../../codecs/tftp/negotiate.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { shown } from '../../domain/parsed.ts';
import { isOptionalTftpFile, type TftpFileKind, tftpFileKind } from '../../trail/tftp-files.ts';
import type { TftpAnswer } from './tftp-resolver.ts';
import type { TftpServerDeps } from './tftp-server.ts';
import type { TftpPeer, TransferOutcome, TransferStall } from './tftp-transfer.ts';
import { GAVE_WAY } from './transfer-book.ts';

type NoteDeps = Pick<TftpServerDeps, 'trail' | 'log'>;

/** For a request that did not start a transfer. */
export function noteAnswer({ trail, log }: NoteDeps, answer: TftpAnswer, from: TftpPeer): void {
  const { name, mac, resolved, reply } = answer;
  if (reply.do === 'send') return;
  const kind = reply.do === 'refuse' ? reply.kind : 'tftp.ignored';
  const data = { file: shown(name), address: from.address, why: reply.why };
  trail.note({ kind, mac, machine: resolved?.about?.id ?? null, data });
  const level = kind === 'tftp.not-found' && isOptionalTftpFile(name) ? 'debug' : 'info';
  log[level]({ mac, ...data }, kind);
}

/** For a request rejected before it was resolved: too many at once, a write, or malformed (then `file` is null). */
export function noteRefused(
  { trail, whoIs }: Pick<TftpServerDeps, 'trail' | 'whoIs'>,
  from: TftpPeer,
  why: string,
  file: string | null,
): void {
  const who = whoIs?.(from.address as Ipv4) ?? { mac: null, machine: null };
  const { address } = from;
  if (file === null) trail.note({ kind: 'tftp.malformed', ...who, data: { address, why: shown(why) } });
  else trail.note({ kind: 'tftp.refused', ...who, data: { file: shown(file), address, why } });
}

/**
 * A loader that never arrives and an initrd that takes minutes look the same without it. The small files of GRUB and iPXE, of which a
 * boot fetches a dozen, are recorded at their end only.
 */
export function noteBegun(
  { trail }: NoteDeps,
  { name, mac, resolved, own }: TftpAnswer,
  from: TftpPeer,
  size: number,
): void {
  // The addresses of unknown clients may be forged.
  if (own || mac === null || !BEGINNINGS.has(tftpFileKind(name))) return;
  const data = { file: name, address: from.address, size };
  trail.note({ kind: 'tftp.begun', mac, machine: resolved?.about?.id ?? null, data });
}

const BEGINNINGS: ReadonlySet<TftpFileKind> = new Set(['loader', 'image']);

/** Like the beginning, only of a known client. */
export function noteStall(
  { trail, log }: NoteDeps,
  { mac, resolved, name, own }: TftpAnswer,
  from: TftpPeer,
  { blockSize, windowSize }: TransferTerms,
  stall: TransferStall,
  took: number,
): void {
  if (own || mac === null) return;
  const data = { file: name, address: from.address, ...stall, ms: Math.round(took), blockSize, windowSize };
  trail.note({ kind: 'tftp.stalled', mac, machine: resolved?.about?.id ?? null, data });
  log.info({ mac, ...data }, 'tftp.stalled');
}

export function noteTransfer(
  { trail, log }: NoteDeps,
  answer: TftpAnswer,
  from: TftpPeer,
  terms: TransferTerms,
  outcome: TransferOutcome,
  took: number,
): void {
  const { mac, resolved, name } = answer;
  const { result, reason, bytes, blocks, resent } = outcome;
  const { blockSize, windowSize } = terms;
  const ms = Math.round(took);
  const data = { file: name, address: from.address, bytes, blocks, resent, ms, blockSize, windowSize, reason };
  if (answer.own) {
    log.debug(data, `tftp.${result}, requested by the appliance itself`);
    return;
  }
  trail.note({ kind: `tftp.${result}`, mac, machine: resolved?.about?.id ?? null, data });
  const because = resolved?.decision.because.id;
  // In a flood of forged requests, each of them.
  const level = reason === GAVE_WAY ? 'debug' : LEVELS[result];
  log[level]({ mac, ...data, because }, `tftp.${result}`);
  noteDecision({ trail }, answer);
}

/** A machine's own GRUB configuration carries the boot decision, as the script does for iPXE: records outcome and reason. */
function noteDecision({ trail }: Pick<NoteDeps, 'trail'>, { name, resolved }: TftpAnswer): void {
  const config = parseGrubConfigName(name);
  if (config?.kind !== 'machine' || resolved === null) return;
  const { outcome, because } = resolved.decision;
  const data = { file: name, outcome: outcome.kind, because: because.id, words: because.words };
  trail.note({ kind: 'boot.decided', mac: config.mac, machine: resolved.about?.id ?? null, data });
}

/** EDK2 begins every download with a size probe, and an abort is the client's own choice. */
const LEVELS = {
  completed: 'info',
  probe: 'debug',
  aborted: 'info',
  timeout: 'warn',
  error: 'warn',
} as const satisfies Record<TransferOutcome['result'], string>;
