// The netboot.ipxe that a NixOS image is built with. `init=` names a path in that image's own Nix store, so it is read from
// here and never composed.

import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';

/** The parameters of its `kernel` line, without those that we set ourselves. */
export function readNetbootParameters(script: string): Parsed<readonly string[]> {
  const lines = script.split(/\r?\n/).map((line) => line.trim().split(/\s+/));
  if (!script.startsWith('#!ipxe')) return unparsable('it is no iPXE script: #!ipxe is missing');
  const kernels = lines.filter(([command]) => command === 'kernel');
  const [kernel] = kernels;
  if (kernel === undefined || kernels.length > 1) return unparsable(`it has ${kernels.length} kernel lines, not one`);
  // kernel bzImage init=… initrd=initrd … ${cmdline}: the last is where a script that chains to it may add its own.
  const parameters = kernel.slice(2).filter((word) => !/^\$\{cmdline\}$/.test(word) && !word.startsWith('initrd='));
  const odd = parameters.find((word) => /[${}\\"']|^[#|&;-]/.test(word));
  if (odd !== undefined) return unparsable(`a parameter of its kernel line cannot be passed on: ${shown(odd)}`);
  if (!parameters.some((word) => word.startsWith('init=/'))) return unparsable('its kernel line has no init=');
  return parsed(parameters);
}
