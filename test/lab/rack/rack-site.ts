// A rack with a real `coldiron serve` in its network. There is no IPv6 router: the appliance sends the hint that iPXE waits for.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, connect } from '../../../appliance/cli/connection.ts';
import { RACK_PACKAGES } from '../../../appliance/lab/rack/firmware.ts';
import { sweepLeftovers } from '../../../appliance/lab/rack/leftovers.ts';
import { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import { needPackages } from '../../interop/packages.ts';
import { ROOT } from '../../process/appliance.ts';
import { putBootFiles } from './boot-files.ts';
import { RackProcess } from './rack-process.ts';

const UP_WITHIN_MS = 60_000;

/** The fields of the appliance's log that the tests read. */
export interface LogLine {
  readonly msg: string;
  readonly mac?: string;
  readonly file?: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly report?: { readonly platform?: string; readonly message?: string };
}

export interface SiteText {
  /** Members of the boot network in addition to those that every test has. */
  readonly network?: Readonly<Record<string, unknown>>;
  readonly moreNetworks?: readonly Readonly<Record<string, unknown>>[];
  readonly nodes?: readonly Readonly<Record<string, unknown>>[];
}

/** Peers that a test adds to the network before the appliance starts. */
export type Neighbours = (site: RackSite) => Promise<void>;

export class RackSite {
  readonly network: RackNetwork;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coldiron-site-'));
  readonly #stops: (() => Promise<void>)[] = [];
  #appliance: RackProcess | null = null;

  private constructor(network: RackNetwork) {
    this.network = network;
    this.#stops.push(async () => rmSync(this.#folder, { recursive: true, force: true }));
    this.#stops.push(() => network.stop());
  }

  static async start(text: SiteText, neighbours: Neighbours = async () => {}): Promise<RackSite> {
    needPackages([...RACK_PACKAGES, 'dnsmasq-base']);
    await sweepLeftovers();
    const site = new RackSite(await RackNetwork.start());
    try {
      await putBootFiles(site.#state);
      await neighbours(site);
      await site.#startAppliance(text);
    } catch (error) {
      await site.stop();
      throw error;
    }
    return site;
  }

  /** The appliance's API, over the socket in its state folder. */
  api(): Promise<Connection> {
    return connect({ state: this.#state });
  }

  /** The appliance's log so far. */
  log(): readonly LogLine[] {
    return (this.#appliance?.lines ?? []).flatMap(asLogLine);
  }

  /** Waits for a line of the appliance's log. */
  async logged(matches: (line: LogLine) => boolean, milliseconds: number): Promise<LogLine> {
    if (!this.#appliance) throw new Error('the appliance has not been started');
    const text = await this.#appliance.line((line) => asLogLine(line).some(matches), milliseconds);
    return JSON.parse(text);
  }

  /** A program in the appliance's network, or in another one, that ends with the site. */
  serve(program: readonly [string, ...string[]], network: RackNetwork = this.network): RackProcess {
    const process = new RackProcess(network, program);
    this.#stops.push(() => process.end());
    return process;
  }

  /** Our own hint does not pass a relay; there, the relaying router is an IPv6 router too. */
  async startRouter(network: RackNetwork, prefix: string): Promise<void> {
    await network.run('ip', 'address', 'add', `${prefix}1/64`, 'dev', network.bridge, 'nodad');
    const advertised = ['--enable-ra', `--dhcp-range=${prefix},ra-only,64`];
    await this.dnsmasq(network, [`--interface=${network.bridge}`, ...advertised]);
  }

  /** dnsmasq with only these options; resolves when it serves. */
  async dnsmasq(network: RackNetwork, options: readonly string[]): Promise<void> {
    const always = ['--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--log-facility=-', '--port=0'];
    const process = this.serve(['dnsmasq', ...always, ...options], network);
    await process.line((line) => /dnsmasq.*(router advertisement|DHCP, IP range)/.test(line), UP_WITHIN_MS);
  }

  /** Another network of the same rack. */
  async addNetwork(address: string): Promise<RackNetwork> {
    const network = await RackNetwork.start({ address });
    this.#stops.push(() => network.stop());
    return network;
  }

  /** A boot file that this appliance serves. */
  loader(name: string): string {
    return join(this.#state, 'assets/loader', name);
  }

  /** Path of a file that is removed with the site. */
  file(name: string): string {
    return join(this.#folder, name);
  }

  async stop(): Promise<void> {
    for (let undo = this.#stops.pop(); undo; undo = this.#stops.pop()) await undo();
  }

  get #state(): string {
    return join(this.#folder, 'state');
  }

  async #startAppliance(text: SiteText): Promise<void> {
    // Every JSON document is YAML.
    writeFileSync(join(this.#folder, 'coldiron.yaml'), JSON.stringify(siteDocument(this.network.bridge, text)));
    const appliance = new RackProcess(this.network, [join(ROOT, 'coldiron'), 'serve'], { cwd: this.#folder });
    this.#stops.push(() => appliance.end());
    this.#appliance = appliance;
    await appliance.line((line) => line.startsWith('Coldiron is up'), UP_WITHIN_MS);
    const refused = appliance.lines.find((line) => line.includes('not answering'));
    if (refused !== undefined) throw new Error(refused);
  }
}

const siteDocument = (bridge: string, { network = {}, moreNetworks = [], nodes = [] }: SiteText) => ({
  listen: { boot: '10.77.0.1:8080', management: '127.0.0.1:8443' },
  sites: [{ name: 'rack', bmc_mode: 'disabled' }],
  networks: [
    {
      name: 'boot',
      prefix: '10.77.0.0/16',
      server: '10.77.0.1',
      interface: bridge,
      dhcp: 'authoritative',
      unknown: 'inspect',
      pools: [{ from: '10.77.1.1', to: '10.77.1.250' }],
      ...network,
    },
    ...moreNetworks,
  ],
  skus: [{ name: 'virtual', architecture: 'x86_64' }],
  nodes,
});

function asLogLine(text: string): LogLine[] {
  if (!text.startsWith('{')) return [];
  return [JSON.parse(text)];
}
