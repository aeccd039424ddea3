import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { openAuthority } from '../../appliance/identity/authority.ts';
import { loadPassphrase, openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { DEFAULT_ENROLLMENT_SETTINGS } from '../../appliance/identity/settings.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';
import { ALICE, auditActions, identityOf, useEnrollment } from './enrollment-rig.ts';
import { newKeyPem, newRequest, openssl, opensslOutput } from './openssl.ts';

const described = (pem: string): string => opensslOutput(['x509', '-noout', '-text'], pem);
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a new authority', () => {
  const rig = useEnrollment();

  it('is created once, with its key in a private folder', async () => {
    const { deps, store, file } = rig();
    await openAuthority(deps);
    const [only, ...others] = await store.authorities();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ state: 'active', crossCertificate: null });
    const folder = join(file('state'), 'ca');
    expect(modeOf(folder)).toBe(0o700);
    expect(readdirSync(folder)).toEqual([`${only?.id}.key`]);
    expect(modeOf(join(folder, `${only?.id}.key`))).toBe(0o600);
    expect(await auditActions(store)).toEqual(['authority.created']);
  });

  it('is created once when two processes start at the same time', async () => {
    const { deps, store, file } = rig();
    const first = await openAuthority(deps);
    // The second process has just read an empty store.
    const late = { ...store, authorities: emptyOnce(() => store.authorities()) };
    const keys = await openKeyFolder(join(file('state'), 'ca'), null);
    const second = await openAuthority({ ...deps, store: late, keys });
    expect(await store.authorities()).toHaveLength(1);
    expect(await second.trust()).toEqual(await first.trust());
  });

  it('has a CA certificate that OpenSSL accepts', async () => {
    const { authority } = rig();
    const { pem, shown } = await authority.trust();
    const text = described(pem);
    expect(text).toMatch(/X509v3 Basic Constraints: critical\n\s+CA:TRUE, pathlen:1\n/);
    expect(text).toMatch(/X509v3 Key Usage: critical\n\s+Certificate Sign, CRL Sign\n/);
    expect(text).toContain('X509v3 Subject Key Identifier');
    expect(text).toContain('ASN1 OID: prime256v1');
    expect(text).toMatch(/Issuer: O = Coldiron, CN = Coldiron CA [0-9a-f]{8}/);
    expect(opensslOutput(['x509', '-noout', '-fingerprint', '-sha256'], pem).trim()).toBe(
      `sha256 Fingerprint=${shown}`,
    );
    expect(openssl(['x509', '-noout', '-checkend', String(3649 * 24 * 3600)], pem).status).toBe(0);
    expect(openssl(['x509', '-noout', '-checkend', String(3651 * 24 * 3600)], pem).status).toBe(1);
  });
});

describe('a node certificate', () => {
  const rig = useEnrollment();

  it.each(['ed25519', 'P-256', 'P-384', 'RSA 2048'] as const)('is signed for a key of kind %s', async (kind) => {
    const { authority, file, machine, clock } = rig();
    const node = await machine(1);
    const key = newKeyPem(kind);
    const signed = await authority.signForNode(identityOf(node), newRequest(key, '/'));
    if (!signed.ok) throw new Error(signed.reason);
    const { pem, serial } = signed.value.certificate;

    const trust = file('trust.pem');
    writeFileSync(trust, (await authority.trust()).pem);
    expect(openssl(['verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', trust], pem).output).toContain('OK');
    expect(openssl(['verify', '-purpose', 'sslserver', '-CAfile', trust], pem).status).not.toBe(0);
    const certificate = new X509Certificate(pem);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.subject).toBe(`O=Coldiron\nCN=${node.id}`);
    expect(certificate.subjectAltName).toBe(`URI:urn:uuid:${node.id}, DNS:node1.example.com, DNS:node1`);
    expect(certificate.serialNumber.toLowerCase().replace(/^0+/, '')).toBe(serial.replace(/^0+/, ''));
    expect(certificate.validFromDate.getTime()).toBe(clock.at - DAY);
    expect(certificate.validToDate.getTime()).toBe(clock.at + 30 * DAY);
    expect(certificate.ca).toBe(false);
    const text = described(pem);
    expect(text).toMatch(/X509v3 Basic Constraints: critical\n\s+CA:FALSE/);
    expect(text).toMatch(/X509v3 Extended Key Usage: \n\s+TLS Web Client Authentication\n/);
    expect(text).toMatch(
      kind === 'RSA 2048'
        ? /Key Usage: critical\n\s+Digital Signature, Key Encipherment\n/
        : /Key Usage: critical\n\s+Digital Signature\n/,
    );
  });

  it('has a unique serial of 128 random bits', async () => {
    const { authority, machine } = rig();
    const identity = identityOf(await machine(1));
    const request = newRequest(newKeyPem('ed25519'), '/');
    const serials = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const signed = await authority.signForNode(identity, request);
        if (!signed.ok) throw new Error(signed.reason);
        return signed.value.certificate.serial;
      }),
    );
    expect(new Set(serials).size).toBe(20);
    expect(Math.max(...serials.map(({ length }) => length))).toBe(32);
    expect(serials.every((serial) => /^[0-9a-f]{20,32}$/.test(serial))).toBe(true);
  });

  it('expires no later than its authority', async () => {
    const { authority, machine, clock, store } = rig();
    const identity = identityOf(await machine(1));
    const [root] = await store.authorities();
    clock.at = (root?.notAfter ?? 0) - DAY;
    const signed = await authority.signForNode(identity, newRequest(newKeyPem('ed25519'), '/'));
    expect(signed).toMatchObject({ ok: true, value: { certificate: { notAfter: root?.notAfter } } });
  });
});

describe('the certificates of services', () => {
  const rig = useEnrollment();

  it('are written to the files that the renderings name, with a matching key', async () => {
    const { authority, machine, file, store } = rig();
    const node = await machine(1);
    const files = await authority.serviceFiles(identityOf(node), ALICE);
    expect(files.map(({ path, mode, secret }) => [path, mode, secret])).toEqual([
      ['secrets/node1-cert.pem', 0o644, false],
      ['secrets/node1-key.pem', 0o600, true],
      ['secrets/ca-cert.pem', 0o644, false],
    ]);
    const [certificate, key, trust] = files.map(({ text }) => text);
    writeFileSync(file('trust.pem'), trust ?? '');
    for (const purpose of ['sslserver', 'sslclient']) {
      const verified = openssl(
        ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', file('trust.pem')],
        certificate,
      );
      expect(verified.output).toContain('OK');
    }
    const read = new X509Certificate(certificate ?? '');
    expect(read.subjectAltName).toBe(
      'DNS:node1.example.com, DNS:node1, DNS:localhost, IP Address:10.0.200.10, IP Address:127.0.0.1',
    );
    expect(read.publicKey.equals(createPublicKey(key ?? ''))).toBe(true);
    expect(await store.certificatesOf(node.id)).toMatchObject([{ kind: 'service', replacedBy: null }]);
    expect(await auditActions(store)).toEqual(['authority.created', 'certificate.issued']);
  });

  it('replace the previous ones, and are listed before they expire', async () => {
    const { authority, machine, clock } = rig();
    const node = await machine(1);
    await authority.serviceFiles(identityOf(node), ALICE);
    clock.at += DAY;
    await authority.serviceFiles(identityOf(node), ALICE);
    expect((await authority.expiring(364 * DAY)).certificates).toEqual([]);
    const soon = await authority.expiring(366 * DAY);
    expect(soon.certificates).toMatchObject([{ kind: 'service', machine: node.id, notAfter: clock.at + 365 * DAY }]);
    expect(soon.authorities).toEqual([]);
    expect((await authority.expiring(3650 * DAY)).authorities).toHaveLength(1);
  });

  it('use the host name as common name when the full name is too long', async () => {
    const { authority, machine } = rig();
    const node = await machine(1);
    const fqdn = `node1.${'x'.repeat(50)}.${'y'.repeat(50)}.example`;
    const [certificate] = await authority.serviceFiles({ ...identityOf(node), fqdn }, ALICE);
    expect(new X509Certificate(certificate?.text ?? '').subject).toBe('O=Coldiron\nCN=node1');
    expect(new X509Certificate(certificate?.text ?? '').checkHost(fqdn)).toBe(fqdn);
  });
});

describe('the keys of an authority', () => {
  const passphrase = new Secret('correct horse');
  const rig = useEnrollment(passphrase);
  const again = async (given: Secret | null) => {
    const { deps, file } = rig();
    return openAuthority({ ...deps, keys: await openKeyFolder(join(file('state'), 'ca'), given) });
  };
  const keyFile = (): string => {
    const folder = join(rig().file('state'), 'ca');
    return join(folder, readdirSync(folder)[0] ?? '');
  };

  it('are encrypted with the passphrase, readable by OpenSSL', async () => {
    expect(openssl(['pkey', '-in', keyFile(), '-passin', 'pass:correct horse', '-noout']).status).toBe(0);
    expect(openssl(['pkey', '-in', keyFile(), '-passin', 'pass:wrong', '-noout']).status).not.toBe(0);
    expect(await (await again(passphrase)).trust()).toEqual(await rig().authority.trust());
  });

  it.each([
    ['without the passphrase', null, /is encrypted, but no passphrase is configured/],
    ['with a wrong passphrase', new Secret('battery staple'), /cannot be decrypted with the passphrase/],
  ])('fail the start %s', async (_case, given, message) => {
    await expect(again(given)).rejects.toMatchObject({ code: 'authority_unavailable', message });
  });

  it('fail the start when others can read them, and when they are missing or damaged', async () => {
    chmodSync(keyFile(), 0o644);
    await expect(again(passphrase)).rejects.toThrow(/accessible to others \(mode 0644\): chmod 0600/);
    chmodSync(keyFile(), 0o600);
    writeFileSync(keyFile(), '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n');
    await expect(again(passphrase)).rejects.toThrow(/cannot be decrypted/);
    writeFileSync(keyFile(), newKeyPem('P-256'));
    await expect(again(passphrase)).rejects.toThrow(/is not encrypted, but a passphrase is configured/);
    await expect(again(null)).rejects.toThrow(/does not match its certificate/);
    writeFileSync(keyFile(), 'nothing');
    await expect(again(null)).rejects.toThrow(/contains no private key/);
    const { store, deps, file } = rig();
    const elsewhere = await openKeyFolder(file('elsewhere'), null);
    await expect(openAuthority({ ...deps, keys: elsewhere })).rejects.toThrow(/is missing: restore it/);
    expect(await store.authorities()).toHaveLength(1);
  });
});

describe('the passphrase', () => {
  const file = useScratchFolder();

  it('is read from the service manager before a file, without the line end', async () => {
    writeFileSync(file('passphrase'), 'from a file\n', { mode: 0o600 });
    writeFileSync(file('coldiron-ca-passphrase'), 'from systemd', { mode: 0o440 });
    const credentials = await loadPassphrase(file('passphrase'), file('.'));
    expect(new TextDecoder().decode(credentials?.reveal())).toBe('from systemd');
    const read = await loadPassphrase(file('passphrase'), undefined);
    expect(new TextDecoder().decode(read?.reveal())).toBe('from a file');
    expect(await loadPassphrase(null, undefined)).toBeNull();
  });

  it.each([
    ['missing', null, 0o600, /there is no file/],
    ['empty', '\n', 0o600, /is empty/],
    ['accessible to others', 'secret words', 0o644, /chmod 0600/],
  ])('is refused from a file that is %s', async (_case, text, mode, message) => {
    if (text !== null) writeFileSync(file('passphrase'), text, { mode });
    await expect(loadPassphrase(file('passphrase'), undefined)).rejects.toMatchObject({
      code: 'authority_unavailable',
      message,
    });
  });
});

it('has consistent lifetimes', () => {
  const { authorityLifetime, nodeLifetime, serviceLifetime, recoveryLifetime, tokenLifetime } =
    DEFAULT_ENROLLMENT_SETTINGS;
  expect(tokenLifetime).toBe(DAY);
  expect(recoveryLifetime).toBeGreaterThan(nodeLifetime);
  expect(authorityLifetime).toBeGreaterThan(2 * serviceLifetime);
});

function emptyOnce<T>(read: () => Promise<T[]>): () => Promise<T[]> {
  let first = true;
  return () => {
    if (!first) return read();
    first = false;
    return Promise.resolve([]);
  };
}
