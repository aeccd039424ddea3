import type { Asset } from '../../../appliance/assets/asset.ts';
import type { TftpResolver } from '../../../appliance/servers/tftp/tftp-resolver.ts';

/** A resolver that sends this one file to every client. */
export function resolverFor({ file, size }: Pick<Asset, 'file' | 'size'>): Pick<TftpResolver, 'answer'> {
  const sha256 = 'b'.repeat(64);
  const asset: Asset = { name: 'initrd', file, size, sha256, kind: 'initrd', architecture: null, contentType: '' };
  return { answer: async (name) => ({ name, mac: null, resolved: null, reply: { do: 'send', content: { asset } } }) };
}
