// A virtual rack with an appliance in its network, started and stopped together.

import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { RackDefinition } from '../rack/definition.ts';
import { OutputFile } from '../rack/output-file.ts';
import { Rack } from '../rack/rack.ts';
import { RackFolder } from '../rack/rack-folder.ts';
import { type DemoSite, demoSiteText } from './demo-site.ts';
import { NetworkProgram } from './network-program.ts';

export interface ServedRackOptions {
  readonly definition: RackDefinition;
  /** The appliance's state folder; it already has the boot files. */
  readonly state: string;
  readonly image: Pick<DemoSite, 'imageSha256' | 'imageName'>;
  /** Inventory files to use instead of the one that the rack wrote. */
  readonly inventory?: (written: string) => Promise<readonly string[]>;
}

const COLDIRON = join(import.meta.dirname, '../../../coldiron');
const START_TIMEOUT_MS = 90_000;

export class ServedRack {
  readonly rack: Rack;
  readonly folder: RackFolder;
  readonly state: string;
  readonly #siteFile: string;
  readonly #log: OutputFile;
  #appliance: NetworkProgram | null = null;

  private constructor(rack: Rack, folder: RackFolder, state: string, siteFile: string) {
    this.rack = rack;
    this.folder = folder;
    this.state = state;
    this.#siteFile = siteFile;
    this.#log = new OutputFile(join(state, 'appliance.log'));
  }

  static async start(options: ServedRackOptions): Promise<ServedRack> {
    const { definition, image, inventory: chosen = async (written) => [written] } = options;
    const state = resolve(options.state);
    const folder = new RackFolder(join(state, 'rack'));
    const rack = await Rack.start({ definition, folder, kind: 'embedded' });
    const siteFile = join(state, 'demo.yaml');
    const served = new ServedRack(rack, folder, state, siteFile);
    try {
      const inventory = await chosen(join(state, 'rack/inventory.yaml'));
      const { passwordFolder } = folder;
      await writeFile(siteFile, demoSiteText({ state, inventory, passwordFolder, ...image }), { mode: 0o600 });
      await served.startAppliance();
    } catch (error) {
      await served.stop();
      throw error;
    }
    return served;
  }

  /** The file with the appliance's log. */
  get logFile(): string {
    return join(this.state, 'appliance.log');
  }

  /** Settles when the appliance has exited, for whatever reason. */
  get applianceOver(): Promise<unknown> {
    return this.#appliance?.over ?? Promise.resolve();
  }

  async startAppliance(): Promise<void> {
    const serve = [COLDIRON, 'serve', '--config', this.#siteFile] as const;
    const appliance = new NetworkProgram(this.rack.network, serve, (line) => this.#log.write(`${line}\n`));
    this.#appliance = appliance;
    await appliance.waitForLine(/^Coldiron is up/, START_TIMEOUT_MS);
  }

  /** `SIGKILL` simulates a power failure of the appliance. */
  async stopAppliance(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const appliance = this.#appliance;
    this.#appliance = null;
    await appliance?.end(signal);
  }

  async stop(): Promise<void> {
    await this.stopAppliance();
    await this.rack.stop();
    await this.folder.erasePassword();
    await this.#log.close();
  }
}
