// The appliance side of a session for the tests of the machine side, written from docs/service-os.md: TLS, the three ways to
// hand over the session key, and sealed files. The credential for a TPM is made by tpm2-tools.

import { spawnSync } from 'node:child_process';
import {
  createCipheriv,
  createHash,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  pbkdf2Sync,
  randomBytes,
} from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DAY } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { publicKeyInfoOf, signLeaf, signRoot } from '../../appliance/identity/sign-certificate.ts';
import type { AuthorityRecord } from '../../appliance/store/enrollment-store.ts';

export interface FakeAuthority {
  readonly pem: string;
  readonly server: { readonly cert: string; readonly key: string };
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;

/** An authority, and a certificate of it for a server at these addresses. */
export function fakeAuthority(addresses: readonly string[] = ['127.0.0.1'], now = Date.now()): FakeAuthority {
  const authorityKey = newKey();
  const root = signRoot(authorityKey, 'Test', 30 * DAY, now);
  const record: AuthorityRecord = {
    ...{ id: root.fingerprint, state: 'active', certificate: root.pem, crossCertificate: null },
    ...{ notBefore: root.notBefore, notAfter: root.notAfter, createdAt: now, activatedAt: now, retiredAt: null },
  };
  const key = newKey();
  const leaf = signLeaf(
    { record, key: authorityKey },
    {
      subject: { organization: 'Test', commonName: 'Test node API' },
      names: addresses.map((address) => ({ kind: 'ip', address: mustParse(parseIpv4(address)) }) as const),
      publicKeyInfo: publicKeyInfoOf(key),
      uses: ['serverAuthentication'],
      isRsa: false,
      lifetime: DAY,
    },
    now,
  );
  return { pem: root.pem, server: { cert: leaf.pem, key: key.export({ format: 'pem', type: 'pkcs8' }).toString() } };
}

export interface Introduction {
  readonly nonce: string;
  readonly macs: readonly string[];
  readonly tpm: {
    readonly ek: readonly { readonly public: string; readonly certificate: string | null }[];
    readonly ak: string;
    readonly quote: { message: string; signature: string; pcrs: Record<string, string> } | null;
  } | null;
  readonly tpm_error: string | null;
  readonly media: string | null;
}

export interface FakeSessionOptions {
  /** Absent: plain HTTP. */
  readonly authority?: FakeAuthority;
  readonly identity: 'bound' | 'media' | 'tpm';
  /** 32 bytes; for `media` also on the medium. */
  readonly secret?: Buffer;
  readonly order?: { readonly mode?: string };
  readonly files?: Readonly<Record<string, string | Buffer>>;
  /** Which endorsement key of the opening the credential is for. */
  readonly ek?: number;
  /** Changes the credential before it is sent. */
  readonly changeCredential?: (credential: Credential) => object;
  /** Changes a sealed file before it is sent. */
  readonly tamper?: (sealed: Sealed) => object;
  /** Ends the machine's work. */
  readonly next?: string;
}

interface Credential {
  readonly ek: string;
  readonly file: string;
}

interface Sealed {
  readonly name: string;
  readonly data: string;
  readonly mac: string;
}

const sha256 = (content: string | Uint8Array): Buffer => createHash('sha256').update(content).digest();

export class FakeSession {
  readonly ticket = randomBytes(32).toString('base64url');
  readonly secret: Buffer;
  readonly requests: string[] = [];
  /** Connections that were opened, also those that sent nothing. */
  connections = 0;
  introduction: Introduction | null = null;
  outcome: unknown = null;
  readonly #options: FakeSessionOptions;
  readonly #server: Server;

  constructor(options: FakeSessionOptions) {
    this.#options = options;
    this.secret = options.secret ?? randomBytes(32);
    const answer = (request: IncomingMessage, response: ServerResponse): void => void this.#answer(request, response);
    this.#server = options.authority ? createHttpsServer(options.authority.server, answer) : createHttpServer(answer);
    this.#server.on('connection', () => {
      this.connections += 1;
    });
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(host = '127.0.0.1'): string {
    return `${this.#options.authority ? 'https' : 'http'}://${host}:${this.port}/boot/session/${this.ticket}`;
  }

  /** As the protocol derives it, or as the answer contains it. */
  get key(): string {
    return this.#options.identity === 'bound'
      ? 'the-key'
      : sha256(`coldiron session ${this.secret.toString('hex')}`).toString('base64url');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const route = `${request.method} ${request.url}`;
    this.requests.push(route);
    const json = (status: number, value: object, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(value));
    };
    if (route === `POST /boot/session/${this.ticket}`) {
      this.introduction = JSON.parse(body) as Introduction;
      return json(201, this.#opened(this.introduction));
    }
    if (request.headers.authorization !== `Bearer ${this.key}`) return json(401, { message: 'unknown session key' });
    const name = /^GET \/boot\/session\/files\/([\w.-]+)$/.exec(route)?.[1];
    const content = this.#options.files?.[name ?? ''];
    if (name !== undefined && content !== undefined && this.#options.identity !== 'bound') {
      const sealed = this.#seal(name, content);
      return json(200, this.#options.tamper?.(sealed) ?? sealed, 'application/vnd.coldiron.sealed+json');
    }
    if (content !== undefined) return void response.writeHead(200, { 'content-type': 'text/plain' }).end(content);
    if (route === 'POST /boot/session/outcome') {
      this.outcome = JSON.parse(body);
      return json(200, { next: this.#options.next ?? 'wait' });
    }
    return json(200, {});
  }

  #opened(introduction: Introduction): object {
    const { identity, order = { mode: 'inspect' } } = this.#options;
    const common = { node: 'node05', mode: order.mode ?? 'inspect', expires_in: 3600, order, identity };
    if (identity === 'bound') return { ...common, session: this.key };
    return identity === 'media' ? common : { ...common, credential: this.#credential(introduction) };
  }

  #credential({ tpm }: Introduction): object {
    const ek = tpm?.ek[this.#options.ek ?? 0]?.public;
    if (!tpm || ek === undefined) throw new Error('the opening has no TPM');
    const made = makeCredential(Buffer.from(ek, 'base64'), Buffer.from(tpm.ak, 'base64'), this.secret);
    return this.#options.changeCredential?.(made) ?? made;
  }

  #seal(name: string, content: string | Buffer): Sealed {
    const s = this.secret.toString('hex');
    const salt = randomBytes(8);
    const pass = sha256(`coldiron encrypt ${name} ${s}`).toString('hex');
    const keys = pbkdf2Sync(pass, salt, 1000, 48, 'sha256');
    const cipher = createCipheriv('aes-256-ctr', keys.subarray(0, 32), keys.subarray(32));
    const data = Buffer.concat([Buffer.from('Salted__'), salt, cipher.update(content), cipher.final()]);
    const mac = createHmac('sha256', sha256(`coldiron authenticate ${name} ${s}`));
    mac.update(name).update(Buffer.of(0)).update(data);
    return { name, data: data.toString('base64'), mac: mac.digest('hex') };
  }
}

/** `ek`, `ak`: TPM2B_PUBLIC. */
function makeCredential(ek: Buffer, ak: Buffer, secret: Buffer): Credential {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-credential-'));
  const file = (name: string): string => join(folder, name);
  const tpm2 = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync('tpm2', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`tpm2 ${args[0]}: ${stderr}`);
    return stdout;
  };
  try {
    writeFileSync(file('ek'), ek);
    writeFileSync(file('secret'), secret);
    // TPM 2.0 part 1, 16: the name is the algorithm, here SHA-256, and the hash of the public area.
    const name = Buffer.concat([Buffer.of(0, 0x0b), sha256(ak.subarray(2))]).toString('hex');
    tpm2('makecredential', '-Q', '-T', 'none', '-u', file('ek'), '-s', file('secret'), '-n', name, '-o', file('out'));
    const pem = tpm2('print', '-t', 'TPM2B_PUBLIC', '-f', 'pem', file('ek'));
    const spki = createPublicKey(pem).export({ format: 'der', type: 'spki' });
    return { ek: sha256(spki).toString('hex'), file: readFileSync(file('out')).toString('base64') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
