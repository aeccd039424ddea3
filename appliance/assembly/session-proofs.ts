// What sessions prove identities with: the key that session secrets are derived from, and the TPM vendors that the site trusts.

import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readVendorAuthorities, type VendorAuthorities } from '../codecs/tpm/vendor-chain.ts';
import { ColdironError } from '../domain/errors.ts';
import { loadVaultKeys } from '../identity/vault/vault-keys.ts';
import { type SessionSeeds, sessionSeeds } from '../provisioning/sessions/session-seeds.ts';
import { tpmReader } from '../provisioning/sessions/tpm-proof.ts';
import type { Foundation } from './foundation.ts';

export interface SessionProofs {
  readonly seeds: SessionSeeds;
  readonly readTpm: ReturnType<typeof tpmReader>;
  readonly random: (size: number) => Buffer;
}

export async function openSessionProofs({ config, clock }: Foundation): Promise<SessionProofs> {
  const keys = await loadVaultKeys(config.state, process.env.CREDENTIALS_DIRECTORY);
  const keyOf = (id: string | null): { readonly id: string; readonly key: Buffer } => {
    const key = id === null ? keys.newest : keys.byId.get(id);
    if (!key)
      throw new ColdironError('vault_unavailable', `${keys.source} no longer has the key ${id} of this session`);
    return { id: key.id, key: Buffer.from(key.secret.reveal()) };
  };
  const random = (size: number): Buffer => randomBytes(size);
  return {
    seeds: sessionSeeds(keyOf, random),
    readTpm: tpmReader({ vendors: await tpmVendors(config.tpmVendors), now: clock.now, random }),
    random,
  };
}

/** Every .pem and .crt file of the folder. */
async function tpmVendors(folder: string | null): Promise<VendorAuthorities> {
  if (folder === null) return [];
  const names = (await readdir(folder)).filter((name) => /\.(?:pem|crt)$/.test(name)).sort();
  const files = await Promise.all(
    names.map(async (name) => ({ name: join(folder, name), text: await readFile(join(folder, name), 'utf8') })),
  );
  const authorities = readVendorAuthorities(files);
  if (!authorities.ok) throw new ColdironError('invalid_config', `tpm.vendor_authorities: ${authorities.reason}`);
  return authorities.value;
}
