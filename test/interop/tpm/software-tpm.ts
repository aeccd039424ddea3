// A TPM 2.0 that we did not write: swtpm on sockets in a folder of its own, used through tpm2-tools.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TpmVendor } from '../../../appliance/lab/rack/tpm-vendor.ts';

export const TPM_PACKAGES = ['swtpm', 'swtpm-tools', 'tpm2-tools', 'libtss2-tcti-swtpm0'];

const PATIENCE_MS = 60_000;
/** TCG EK Credential Profile: these templates let the user of the key in with its password, which is empty. */
const HIGH_RANGE = ['ecc384', 'rsa3072'];
const PCRS = 'sha256:0,1,2,3,4,5,6,7';

export class SoftwareTpm {
  readonly folder: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, process: ChildProcess) {
    this.folder = folder;
    this.#process = process;
  }

  /** Manufactures a TPM and switches it on. */
  static async start(folder: string, vendor: TpmVendor): Promise<SoftwareTpm> {
    mkdirSync(folder, { recursive: true });
    await vendor.manufacture(join(folder, 'state'));
    return await SoftwareTpm.switchOn(folder, join(folder, 'state'));
  }

  /** `folder`: for its sockets and files. */
  static async switchOn(folder: string, state: string): Promise<SoftwareTpm> {
    const control = join(folder, 'tpm.ctrl');
    const args = ['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--flags', 'not-need-init,startup-clear'];
    args.push('--server', `type=unixio,path=${join(folder, 'tpm')}`, '--ctrl', `type=unixio,path=${control}`);
    const tpm = new SoftwareTpm(folder, spawn('swtpm', args, { stdio: 'ignore' }));
    await tpm.#listens(control);
    return tpm;
  }

  /** Runs a command of tpm2-tools in the folder; throws what it printed if it fails. */
  tpm2(command: string, ...args: readonly string[]): string {
    const { status, output } = this.try(command, ...args);
    if (status !== 0) throw new Error(`tpm2 ${command}: ${output}`);
    // Objects stay in the TPM's few slots until they are flushed: there is no resource manager.
    this.try('flushcontext', '-t');
    return output;
  }

  try(command: string, ...args: readonly string[]): { readonly status: number | null; readonly output: string } {
    const env = { ...process.env, TPM2TOOLS_TCTI: `swtpm:path=${join(this.folder, 'tpm')}` };
    const { status, stdout, stderr } = spawnSync('tpm2', [command, ...args], {
      cwd: this.folder,
      env,
      encoding: 'utf8',
    });
    return { status, output: `${stdout}${stderr}` };
  }

  read(name: string): Buffer {
    return readFileSync(join(this.folder, name));
  }

  write(name: string, content: Uint8Array): void {
    writeFileSync(join(this.folder, name), content);
  }

  /** An endorsement key from the TCG's template: its TPM2B_PUBLIC. */
  createEk(kind: string): Buffer {
    this.tpm2('createek', '-G', kind, '-c', `${kind}.ek`, '-u', `${kind}.ek.pub`);
    return this.read(`${kind}.ek.pub`);
  }

  /** An attestation key below it: its TPM2B_PUBLIC. */
  createAk(ek: string, kind: string, scheme: string): Buffer {
    this.tpm2(
      'createak',
      '-C',
      `${ek}.ek`,
      '-G',
      kind,
      '-g',
      'sha256',
      '-s',
      scheme,
      '-c',
      `${scheme}.ak`,
      '-u',
      `${scheme}.ak.pub`,
    );
    return this.read(`${scheme}.ak.pub`);
  }

  /** Lets TPM2_ActivateCredential open it: the secret, or null and the reason in `output`. */
  activate(ek: string, ak: string, file: Uint8Array): { readonly secret: Buffer | null; readonly output: string } {
    this.write('credential', file);
    rmSync(join(this.folder, 'opened'), { force: true });
    const session = HIGH_RANGE.includes(ek) ? [] : ['-P', `session:${this.#policySession()}`];
    const args = ['-c', ak, '-C', `${ek}.ek`, '-i', 'credential', '-o', 'opened', ...session];
    const { status, output } = this.try('activatecredential', ...args);
    for (const kind of ['-t', '-l', '-s']) this.try('flushcontext', kind);
    return { secret: status === 0 ? this.read('opened') : null, output };
  }

  quote(scheme: string, nonce: Buffer): { message: Buffer; signature: Buffer; pcrs: Record<string, string> } {
    this.tpm2(
      'quote',
      '-c',
      `${scheme}.ak`,
      '--scheme',
      scheme,
      '-l',
      PCRS,
      '-q',
      nonce.toString('hex'),
      '-m',
      'message',
      '-s',
      'signature',
    );
    this.tpm2('pcrread', PCRS, '-o', 'pcrs');
    const values = this.read('pcrs');
    const pcrs = Object.fromEntries(
      Array.from({ length: 8 }, (_, pcr) => [String(pcr), values.subarray(pcr * 32, pcr * 32 + 32).toString('hex')]),
    );
    return { message: this.read('message'), signature: this.read('signature'), pcrs };
  }

  /** The policy of the older templates: whoever knows the password of the endorsement hierarchy, which is empty. */
  #policySession(): string {
    this.tpm2('startauthsession', '--policy-session', '-S', 'session');
    this.tpm2('policysecret', '-S', 'session', '-c', 'e');
    return 'session';
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  async #listens(path: string): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (!(await accepts(path))) {
      if (this.#process.exitCode !== null) throw new Error(`swtpm ended with ${this.#process.exitCode}`);
      if (Date.now() > deadline) throw new Error('swtpm does not listen');
      await pause(20);
    }
  }
}

const accepts = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
