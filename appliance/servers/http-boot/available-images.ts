// Whether everything that an outcome starts is really on this appliance, and what its kernel has to be told.

import { readFile } from 'node:fs/promises';
import type { Asset } from '../../assets/asset.ts';
import type { BootImage, WantedImage } from '../../boot/boot-images.ts';
import { readNetbootParameters } from '../../boot/replies/netboot-script.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

/** The library, as far as the boot server needs it. */
export interface AssetShelf {
  find(name: string): Asset | null;
}

/** As Nix builds it, a script of four lines. */
const LONGEST_NETBOOT_SCRIPT = 64 * 1024;

export class AvailableImages {
  readonly #library: AssetShelf;
  /** By checksum: the same bytes say the same. */
  readonly #parameters = new Map<string, Parsed<readonly string[]>>();

  constructor(library: AssetShelf) {
    this.#library = library;
  }

  /** The reason names what is missing, in words that follow "is to start". */
  async find(wanted: WantedImage): Promise<Parsed<BootImage>> {
    for (const name of [wanted.kernel, wanted.initrd]) {
      const asset = this.#library.find(name);
      if (asset === null) return unparsable(name);
      if (asset.architecture !== null && asset.architecture !== wanted.architecture) {
        return unparsable(`${name} for ${wanted.architecture} (the one there is for ${asset.architecture})`);
      }
    }
    const parameters = await this.#parametersOf(wanted);
    if (!parameters.ok) return parameters;
    return parsed({ kernel: wanted.kernel, initrd: wanted.initrd, parameters: parameters.value });
  }

  async #parametersOf({ netbootScript }: WantedImage): Promise<Parsed<readonly string[]>> {
    const script = netbootScript === null ? null : this.#library.find(netbootScript);
    // An image that was built another way may have its init where the kernel looks by itself.
    if (script === null) return parsed([]);
    const known = this.#parameters.get(script.sha256);
    if (known) return known;
    if (script.size > LONGEST_NETBOOT_SCRIPT) return unparsable(`a readable ${script.name} (it is too long)`);
    const read = readNetbootParameters(await readFile(script.file, 'utf8'));
    const told = read.ok ? read : unparsable(`a readable ${script.name} (${read.reason})`);
    // One entry per image that was ever served: replaced ones are few, and small.
    this.#parameters.set(script.sha256, told);
    return told;
  }
}
