// A machine with a TPM on the wire of a twin site. Its TPM is swtpm; tpm2-tools make its keys and its quote and open its credential, and
// openssl opens what is sealed for it.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Lab } from '../interop/dhcp/lab.ts';
import type { SoftwareTpm } from '../interop/tpm/software-tpm.ts';
import type { Answer } from '../provisioning/sessions/fake-service-os.ts';
import { type Host, type Identity, WiredMachine } from './wired-machine.ts';

const EKS = ['ecc', 'rsa'] as const;
const AK = 'ecdsa';
const RSA_CERTIFICATE = '0x01c00002';

interface ShownEk {
  /** TPM2B_PUBLIC. */
  readonly public: string;
  readonly certificate: string | null;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** A TPM with its endorsement keys and an attestation key. */
export class MachineTpm {
  readonly #tpm: SoftwareTpm;
  readonly #ak: Buffer;
  /** ECC, then RSA; the vendor has signed the RSA key only. */
  readonly eks: readonly [ShownEk, ShownEk];

  constructor(tpm: SoftwareTpm) {
    this.#tpm = tpm;
    const [ecc, rsa] = EKS.map((kind) => tpm.createEk(kind).toString('base64'));
    this.#ak = tpm.createAk('ecc', 'ecc', AK);
    tpm.tpm2('nvread', RSA_CERTIFICATE, '-o', 'certificate');
    this.eks = [
      { public: ecc ?? '', certificate: null },
      { public: rsa ?? '', certificate: tpm.read('certificate').toString('base64') },
    ];
  }

  /** What the machine shows when it opens a session; `eks`: instead of its own. */
  shown(ticket: string, eks: readonly ShownEk[] = this.eks): object {
    const nonce = sha256(ticket.replace('/boot/session/', ''));
    const { message, signature, pcrs } = this.#tpm.quote(AK, nonce);
    const quote = { message: message.toString('base64'), signature: signature.toString('base64'), pcrs };
    return { ek: eks, ak: this.#ak.toString('base64'), quote };
  }

  /** The secret in a credential; null: it is for another TPM. Tries each of its endorsement keys. */
  open(credential: string): Buffer | null {
    for (const kind of EKS) {
      const { secret } = this.#tpm.activate(kind, `${AK}.ak`, Buffer.from(credential, 'base64'));
      if (secret !== null) return secret;
    }
    return null;
  }
}

interface Opened extends Answer {
  /** The endorsement key that the session key is encrypted for. */
  readonly ek: string | null;
  /** Its TPM opened the session key. */
  readonly isUsable: boolean;
}

export class TpmMachine extends WiredMachine {
  readonly #identity: Identity;
  readonly #tpm: MachineTpm;
  #secret: Buffer | null = null;

  constructor(lab: Lab, host: Host, identity: Identity, tpm: MachineTpm) {
    super(lab, host, identity);
    this.#identity = identity;
    this.#tpm = tpm;
  }

  override async open(ticket: string, changes: object = {}, eks: readonly ShownEk[] = this.#tpm.eks): Promise<Opened> {
    const { mac, uuid, serial } = this.#identity;
    const chassis = { mac, uuid, serial, architecture: 'x86_64', firmware: 'uefi', secure_boot: false, macs: [mac] };
    const answer = await this.ask('POST', ticket, { ...chassis, tpm: this.#tpm.shown(ticket, eks), ...changes });
    const credential = (answer.json as { credential?: { ek: string; file: string } } | null)?.credential;
    this.#secret = credential ? this.#tpm.open(credential.file) : null;
    if (this.#secret !== null) {
      this.holdKey(sha256(`coldiron session ${this.#secret.toString('hex')}`).toString('base64url'));
    }
    return { ...answer, ek: credential?.ek ?? null, isUsable: this.#secret !== null };
  }

  /** The text of a sealed file; null: this machine cannot open it. */
  unsealed(name: string, body: string, secret = this.#secret): string | null {
    if (secret === null) return null;
    const { data } = JSON.parse(body) as { readonly data: string };
    const passphrase = sha256(`coldiron encrypt ${name} ${secret.toString('hex')}`).toString('hex');
    const args = ['enc', '-d', '-aes-256-ctr', '-pbkdf2', '-iter', '1000', '-md', 'sha256', '-pass', 'env:PASSPHRASE'];
    const { status, stdout } = spawnSync('openssl', args, {
      input: Buffer.from(data, 'base64'),
      env: { ...process.env, PASSPHRASE: passphrase },
      encoding: 'utf8',
    });
    return status === 0 ? stdout : null;
  }
}
