// Who is at the other end, decided in the TLS handshake: before the first byte of HTTP, so before any password. BMCs come with
// certificates that they made themselves; the first one seen is kept, and another one later is not the same BMC until a person
// says so.

import { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { BmcError } from '../bmc-error.ts';

/** Which certificate each BMC showed when it was first spoken to. */
export interface CertificatePins {
  /** SHA-256 of the certificate as `AB:CD:…`; null: never seen. */
  pinned(address: string): string | null;
  /** Settles once it is kept; only then is a password sent. */
  remember(address: string, fingerprint: string): Promise<void>;
}

/** Instead of a pin: the authority that issued the certificates of the BMCs. */
export interface CertificateAuthority {
  readonly pem: string;
  /** The name in the certificate, where that is not the address. */
  readonly name?: string;
}

export interface Trust {
  /** What the pin is kept under. */
  readonly address: string;
  readonly pins: CertificatePins;
  readonly authority: CertificateAuthority | null;
}

export function trustingConnector(trust: Trust, timeout: number): buildConnector.connector {
  const { authority } = trust;
  const connect = buildConnector({
    allowH2: false,
    timeout,
    // Every connection shows its certificate anew.
    maxCachedSessions: 0,
    ...(authority === null
      ? { rejectUnauthorized: false }
      : { ca: authority.pem, ...(authority.name === undefined ? {} : { servername: authority.name }) }),
  });
  return (options, callback) =>
    connect(options, (error, socket) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const refuse = (reason: unknown): void => {
        socket.destroy();
        callback(reason instanceof Error ? reason : new Error(String(reason)), null);
      };
      const checked = authority === null ? checkPin(trust, socket) : Promise.resolve();
      checked.then(() => {
        if (socket.destroyed) refuse(new BmcError('vanished', 'the BMC hung up during the handshake'));
        else callback(null, socket);
      }, refuse);
    });
}

async function checkPin({ address, pins }: Trust, socket: object): Promise<void> {
  const shown = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.fingerprint256 : undefined;
  if (shown === undefined) throw new BmcError('untrusted', 'the BMC shows no certificate');
  const known = pins.pinned(address);
  if (known === null) {
    await remember(pins, address, shown);
  } else if (!sameFingerprint(known, shown)) {
    throw new BmcError(
      'untrusted',
      `the BMC shows another certificate than before; nothing was sent. Known: ${known}, shown: ${shown}. ` +
        'If the BMC was replaced or got a new certificate, forget the old one; otherwise somebody is in between',
    );
  }
}

async function remember(pins: CertificatePins, address: string, fingerprint: string): Promise<void> {
  try {
    await pins.remember(address, fingerprint);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BmcError('untrusted', `the certificate of the BMC could not be kept, so nothing was sent: ${reason}`);
  }
}

const sameFingerprint = (one: string, other: string): boolean => digits(one) === digits(other);

const digits = (fingerprint: string): string => fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();
