// Verifies the BMC's identity in the TLS handshake: before the first byte of HTTP, so before any password. BMCs use self-signed
// certificates; the first one seen is pinned, and a changed one is rejected until an operator accepts it.

import { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { BmcError } from '../bmc-error.ts';

/** The pinned certificate of each BMC. */
export interface CertificatePins {
  /** SHA-256 of the certificate as `AB:CD:…`; null: none pinned. */
  pinned(address: string): string | null;
  /** Resolves once it is persisted; only then is a password sent. */
  remember(address: string, fingerprint: string): Promise<void>;
}

/** Instead of a pin: the authority that issues the certificates of the BMCs. */
export interface CertificateAuthority {
  readonly pem: string;
  /** The name in the certificate, if it is not the address. */
  readonly name?: string;
}

export interface Trust {
  /** The key of the pin. */
  readonly address: string;
  readonly pins: CertificatePins;
  readonly authority: CertificateAuthority | null;
}

export function trustingConnector(trust: Trust, timeout: number): buildConnector.connector {
  const { authority } = trust;
  const connect = buildConnector({
    allowH2: false,
    timeout,
    // No session resumption: every connection presents its certificate.
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
        if (socket.destroyed) refuse(new BmcError('vanished', 'the BMC closed the connection during the handshake'));
        else callback(null, socket);
      }, refuse);
    });
}

async function checkPin({ address, pins }: Trust, socket: object): Promise<void> {
  const presented = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.fingerprint256 : undefined;
  if (presented === undefined) throw new BmcError('untrusted', 'the BMC presents no certificate');
  const known = pins.pinned(address);
  if (known === null) {
    await remember(pins, address, presented);
  } else if (!sameFingerprint(known, presented)) {
    throw new BmcError(
      'untrusted',
      `the BMC's certificate changed; nothing was sent. Pinned: ${known}, presented: ${presented}. ` +
        'If the BMC was replaced or got a new certificate, forget the old one; otherwise suspect a man in the middle',
    );
  }
}

async function remember(pins: CertificatePins, address: string, fingerprint: string): Promise<void> {
  try {
    await pins.remember(address, fingerprint);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BmcError('untrusted', `the certificate of the BMC could not be saved, so nothing was sent: ${reason}`);
  }
}

const sameFingerprint = (one: string, other: string): boolean => digits(one) === digits(other);

const digits = (fingerprint: string): string => fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();
