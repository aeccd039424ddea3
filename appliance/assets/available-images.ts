// Checks that every file of a boot outcome is in the library, and reads the kernel parameters that it needs. One instance for the
// whole appliance: the boot decision asks it for every DHCP packet, so each netboot script is read once and then cached.

import { readFileSync } from 'node:fs';
import type { BootImage, RequiredImage } from '../boot/boot-images.ts';
import { readNetbootParameters } from '../boot/replies/netboot-script.ts';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { Asset } from './asset.ts';

/** A script of four lines, as Nix builds it. */
const LONGEST_NETBOOT_SCRIPT = 64 * 1024;

export class AvailableImages {
  readonly #library: { find(name: string): Asset | null };
  /** By checksum: equal files have equal parameters. */
  readonly #parameters = new Map<string, Parsed<readonly string[]>>();

  constructor(library: { find(name: string): Asset | null }) {
    this.#library = library;
  }

  /** The reason names the missing file; it completes a sentence after "is to start". */
  find(wanted: RequiredImage): Parsed<BootImage> {
    for (const name of [wanted.kernel, wanted.initrd]) {
      const asset = this.#library.find(name);
      if (asset === null) return unparsable(name);
      if (asset.damage !== undefined) return unparsable(`a sound ${name} (the one there ${asset.damage.words})`);
      if (asset.architecture !== null && asset.architecture !== wanted.architecture) {
        return unparsable(`${name} for ${wanted.architecture} (the one there is for ${asset.architecture})`);
      }
    }
    const parameters = this.#parametersOf(wanted);
    if (!parameters.ok) return parameters;
    return parsed({ kernel: wanted.kernel, initrd: wanted.initrd, parameters: parameters.value });
  }

  #parametersOf({ netbootScript }: RequiredImage): Parsed<readonly string[]> {
    const script = netbootScript === null ? null : this.#library.find(netbootScript);
    // An image that was built differently may have its init at the kernel's default path.
    if (script === null) return parsed([]);
    const known = this.#parameters.get(script.sha256);
    if (known) return known;
    if (script.size > LONGEST_NETBOOT_SCRIPT) return unparsable(`a readable ${script.name} (it is too long)`);
    const text = textOf(script);
    // Not cached: the file may be readable the next time.
    if (!text.ok) return text;
    const read = readNetbootParameters(text.value);
    const parameters = read.ok ? read : unparsable(`a readable ${script.name} (${read.reason})`);
    // One entry per image that was ever served: replaced images are few, and entries are small.
    this.#parameters.set(script.sha256, parameters);
    return parameters;
  }
}

function textOf({ name, file }: Asset): Parsed<string> {
  try {
    return parsed(readFileSync(file, 'utf8'));
  } catch (error) {
    return unparsable(`a readable ${name} (${(error as NodeJS.ErrnoException).code ?? 'it cannot be read'})`);
  }
}
