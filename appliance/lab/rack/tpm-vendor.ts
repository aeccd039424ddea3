// The maker of the rack's TPMs: manufactures them with swtpm_setup, with EK certificates of an authority of its own. The
// authority's certificates are in a folder of their own, as a site gets them from a real maker.

import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './command.ts';

export class TpmVendor {
  /** PEM files of the root and of the authority below it that signs. */
  readonly certificates: string;
  readonly #folder: string;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    this.certificates = join(folder, 'certificates');
  }

  /**
   * A new TPM with an RSA 2048 and an ECC P-384 endorsement key, in place of what is in the folder. `damaged`: its EK
   * certificates are cut in half. One after the other: they share the authority.
   */
  manufacture(state: string, { damaged = false } = {}): Promise<void> {
    const turn = this.#turn.then(() => this.#manufacture(state, damaged));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #manufacture(state: string, damaged: boolean): Promise<void> {
    const config = await this.#configure(damaged);
    const made = `${state}.new`;
    await rm(made, { recursive: true, force: true });
    await mkdir(made, { recursive: true, mode: 0o700 });
    const kind = ['--tpm2', '--create-ek-cert', '--pcr-banks', 'sha256'];
    await runCommand('swtpm_setup', ...kind, '--tpmstate', made, '--config', config, '--overwrite');
    await rm(state, { recursive: true, force: true });
    await rename(made, state);
    await this.#publish();
  }

  get #authority(): string {
    return join(this.#folder, 'authority');
  }

  async #configure(damaged: boolean): Promise<string> {
    await mkdir(this.#authority, { recursive: true, mode: 0o700 });
    const file = (name: string): string => join(this.#authority, name);
    await writeFile(
      file('localca.conf'),
      settings({
        statedir: this.#authority,
        signingkey: file('signkey.pem'),
        issuercert: file('issuercert.pem'),
        certserial: file('certserial'),
      }),
    );
    await writeFile(
      file('localca.options'),
      ['--platform-manufacturer Coldiron', '--platform-version 1', '--platform-model rack', ''].join('\n'),
    );
    await writeFile(file('damaged'), DAMAGED);
    await chmod(file('damaged'), 0o700);
    const config = file(damaged ? 'setup-damaged.conf' : 'setup.conf');
    await writeFile(
      config,
      settings({
        create_certs_tool: damaged ? file('damaged') : LOCAL_AUTHORITY,
        create_certs_tool_config: file('localca.conf'),
        create_certs_tool_options: file('localca.options'),
      }),
    );
    return config;
  }

  async #publish(): Promise<void> {
    await mkdir(this.certificates, { recursive: true, mode: 0o700 });
    const names = { 'swtpm-localca-rootca-cert.pem': 'root.pem', 'issuercert.pem': 'issuer.pem' };
    for (const [from, to] of Object.entries(names)) {
      await copyFile(join(this.#authority, from), join(this.certificates, to));
    }
  }
}

/** Creates its keys with the first certificate. */
const LOCAL_AUTHORITY = '/usr/bin/swtpm_localca';

const DAMAGED = `#!/bin/sh
# Called by swtpm_setup instead of swtpm_localca, whose certificates it cuts in half.
${LOCAL_AUTHORITY} "$@" || exit
while [ $# -gt 1 ]; do
  if [ "$1" = --dir ]; then dir=$2; fi
  shift
done
for file in "$dir"/*.cert; do
  head -c $(($(wc -c < "$file") / 2)) "$file" > "$file.half" && mv "$file.half" "$file"
done
`;

const settings = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([key, value]) => `${key} = ${value}\n`)
    .join('');
