// An inventory of any size, in the format of the files.

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

export const macOf = (at: number): string =>
  `52:54:00:${hex((at >> 16) & 255)}:${hex((at >> 8) & 255)}:${hex(at & 255)}`;
export const uuidOf = (at: number): string => `7a11ab1e-0000-4000-8000-${String(at).padStart(12, '0')}`;
const addressOf = (base: number, at: number): string => {
  const row = Math.floor(at / 250);
  return `10.${base + Math.floor(row / ROWS)}.${1 + (row % ROWS)}.${1 + (at % 250)}`;
};
/** As long as the networks of the benchmarks where the nodes fit. */
const prefixOf = (base: number, nodes: number): string => `10.${base}.0.0/${nodes > ROWS * 250 ? 14 : 16}`;
/** Rows of 250 addresses before the next /16. The pool of the boot network lies above them. */
const ROWS = 199;

export interface RackDocument {
  readonly nodes: readonly { readonly name: string; readonly labels: Record<string, string> }[];
}

/** `boot`: members of the boot network, in addition to or instead of the default ones. */
export const largeRack = (nodes: number, boot: Readonly<Record<string, unknown>> = {}): RackDocument =>
  ({
    sites: [{ name: 'bench', domain: 'bench.example', bmc_mode: 'recorder' }],
    networks: [
      {
        name: 'prov',
        prefix: prefixOf(100, nodes),
        server: '10.100.0.10',
        gateway: '10.100.0.1',
        pools: [{ from: '10.100.200.1', to: '10.100.250.250' }],
        ...boot,
      },
      { name: 'prod', prefix: prefixOf(200, nodes), gateway: '10.200.0.1' },
      { name: 'bmc', prefix: prefixOf(8, nodes) },
    ],
    skus: [{ name: 'gp1', architecture: 'x86_64' }],
    profiles: [{ name: 'worker', kind: 'nixos', role: 'worker' }],
    nodes: Array.from({ length: nodes }, (_, at) => ({
      name: `node${at}`,
      sku: 'gp1',
      profile: 'worker',
      uuid: uuidOf(at),
      labels: { rack: String(Math.floor(at / 40)) },
      interfaces: [
        { name: 'eth0', mac: macOf(at), network: 'prov', address: addressOf(100, at) },
        { name: 'eth1', mac: macOf(at + 0x100000), network: 'prod', address: addressOf(200, at) },
      ],
      bmc: { address: addressOf(8, at), driver: 'ipmi', username: 'admin', password_file: '/run/secrets/bmc' },
    })),
  }) as RackDocument;
